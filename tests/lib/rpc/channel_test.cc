#include "rpc/channel.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/file.h"
#include "gp/v1/run_service.grpc.pb.h"
#include "lib/base/eventually.h"
#include "lib/rpc/connected_channel.h"
#include "lib/rpc/spoiled_connect.h"
#include "rpc/listen_address.h"
#include "rpc/server.h"
#include "rpc/status.h"

namespace gp::rpc {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

class EmptyVersion final : public v1::RunService::Service {
  grpc::Status Version(grpc::ServerContext*, const v1::VersionRequest*,
                       v1::VersionResponse*) override {
    return grpc::Status::OK;
  }
};

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// Simulates a server on a busy machine: accepts a connection at once, waits, then forwards bytes to
// and from `port`. Serves one connection at a time.
class SlowDoor {
 public:
  SlowDoor(int port, milliseconds delay)
      : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_.get(), 8), 0);
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::jthread([this, port, delay] {
      while (Pass(port, delay)) {
      }
    });
  }
  ~SlowDoor() { shutdown(listener_.get(), SHUT_RDWR); }

  const std::string& address() const { return address_; }

 private:
  // Serves one connection; false once no more connections will come.
  bool Pass(int port, milliseconds delay) const {
    const FileDescriptor client(accept(listener_.get(), nullptr, nullptr));
    if (!client.valid()) return false;
    std::this_thread::sleep_for(delay);
    const FileDescriptor server(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = Loopback(port);
    if (connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      return true;
    }
    pollfd ends[2] = {{client.get(), POLLIN, 0}, {server.get(), POLLIN, 0}};
    while (poll(ends, 2, 20'000) > 0) {
      for (int from = 0; from < 2; ++from) {
        if (ends[from].revents != 0 && !Copy(ends[from].fd, ends[1 - from].fd)) return true;
      }
    }
    return true;
  }

  static bool Copy(int from, int to) {
    char buffer[4096];
    const ssize_t got = read(from, buffer, sizeof buffer);
    return got > 0 && WriteAll(to, {buffer, static_cast<size_t>(got)}, "door").ok();
  }

  FileDescriptor listener_;
  std::string address_;
  std::jthread thread_;
};

enum class Waits { kForConnection, kForNothing };

Status AskVersion(const std::shared_ptr<grpc::Channel>& channel, Waits waits = Waits::kForNothing) {
  const auto stub = v1::RunService::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  context.set_wait_for_ready(waits == Waits::kForConnection);
  v1::VersionResponse response;
  return FromGrpc(stub->Version(&context, {}, &response));
}

TEST(Channel, ACallWaitsForAServerThatIsSlowToGreet) {
  EmptyVersion service;
  auto server = RpcServer::Start({}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  const SlowDoor door(ParseListenAddress((*server)->address())->port, milliseconds(300));
  const Status status = AskVersion(MakeChannel(door.address()), Waits::kForConnection);
  EXPECT_TRUE(status.ok()) << status;
}

// gRPC 1.51 fails like this at random; SpoilConnects makes it happen every time. If this test
// fails, gRPC has been fixed and ConnectedChannel can be removed.
TEST(Channel, AConnectionMayFailWithTheErrorOfAnotherCall) {
  EmptyVersion service;
  auto server = RpcServer::Start({}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  SpoilConnects(1);
  const Status status = AskVersion(MakeChannel((*server)->address()));
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
  EXPECT_THAT(Message(status), HasSubstr("No such file or directory"));
}

TEST(Channel, AConnectedOneIsConnectedByItsSecondAttempt) {
  EmptyVersion service;
  auto server = RpcServer::Start({}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  SpoilConnects(1);
  const Status status = AskVersion(ConnectedChannel((*server)->address(), {}, kPatience));
  EXPECT_EQ(ConnectsToSpoil(), 0);
  EXPECT_TRUE(status.ok()) << status;
}

TEST(Channel, ACallThatReachesNobodyNamesAddressAndReason) {
  const FileDescriptor deaf(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(deaf.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  getsockname(deaf.get(), reinterpret_cast<sockaddr*>(&address), &size);
  const std::string place = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  const Status status = AskVersion(ConnectedChannel(place));
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
  EXPECT_THAT(Message(status), AllOf(HasSubstr(place), HasSubstr("Connection refused")));
}

}  // namespace
}  // namespace gp::rpc
