#include "rpc/server.h"

#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "gp/v1/run_service.grpc.pb.h"
#include "lib/base/eventually.h"
#include "lib/rpc/connected_channel.h"
#include "rpc/status.h"

namespace gp::rpc {
namespace {

class VersionOnly final : public v1::RunService::Service {
  grpc::Status Version(grpc::ServerContext*, const v1::VersionRequest*,
                       v1::VersionResponse* response) override {
    response->set_version("test");
    return grpc::Status::OK;
  }
};

Status CallVersion(const std::string& address, std::string* version) {
  auto stub = v1::RunService::NewStub(ConnectedChannel(address));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  v1::VersionResponse response;
  const Status status = FromGrpc(stub->Version(&context, {}, &response));
  *version = response.version();
  return status;
}

TEST(RpcServer, ServesOnAFreePortAndTellsIt) {
  VersionOnly service;
  auto server = RpcServer::Start({}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_NE((*server)->address(), "127.0.0.1:0");
  std::string version;
  EXPECT_TRUE(CallVersion((*server)->address(), &version).ok());
  EXPECT_EQ(version, "test");
}

TEST(RpcServer, APortInUseIsNamed) {
  VersionOnly service;
  auto first = RpcServer::Start({}, {&service});
  ASSERT_TRUE(first.ok());
  VersionOnly other;
  const auto second = RpcServer::Start({.endpoints = {{(*first)->address()}}}, {&other});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kAlreadyExists);
  EXPECT_NE(Message(second.status()).find((*first)->address()), std::string::npos);
}

TEST(RpcServer, ShutdownFreesThePort) {
  VersionOnly service;
  auto first = RpcServer::Start({}, {&service});
  ASSERT_TRUE(first.ok());
  const std::string address = (*first)->address();
  (*first)->Shutdown(std::chrono::seconds(1));
  VersionOnly other;
  EXPECT_TRUE(RpcServer::Start({.endpoints = {{address}}}, {&other}).ok());
}

// A directory below which a test can make paths of the lengths that it needs.
class SocketServerTest : public ::testing::Test {
 protected:
  SocketServerTest() {
    std::string pattern = ::testing::TempDir() + "gp-socket-XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~SocketServerTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name = "gp.sock") const { return directory_ + "/" + name; }

  static StatusOr<std::unique_ptr<RpcServer>> Serve(const std::string& path) {
    static VersionOnly service;
    return RpcServer::Start({.endpoints = {{"unix:" + path}}}, {&service});
  }

  // Expects that the server answers at its address and that the socket is gone after the server's
  // end.
  static void ExpectServes(const std::string& path) {
    auto server = Serve(path);
    ASSERT_TRUE(server.ok()) << server.status();
    EXPECT_EQ((*server)->address(), "unix:" + path);
    std::string version;
    const Status called = CallVersion((*server)->address(), &version);
    EXPECT_TRUE(called.ok()) << called;
    EXPECT_EQ(version, "test");
    server->reset();
    EXPECT_FALSE(FileExists(path));
  }

  std::string directory_;
};

TEST_F(SocketServerTest, ServesOnASocket) { ExpectServes(Path()); }

TEST_F(SocketServerTest, AnyCharacterOfAPathIsItself) {
  ExpectServes(Path("a b%41?#\xc3\xa4:.sock"));
}

TEST_F(SocketServerTest, APathMayBeLongerThanTheKernelsNames) {
  const std::string directory = Path(std::string(200, 'd'));
  std::filesystem::create_directory(directory);
  ExpectServes(directory + "/gp.sock");
}

TEST_F(SocketServerTest, OnlyItsUserMayConnect) {
  const mode_t before = umask(0);
  const auto server = Serve(Path());
  EXPECT_EQ(umask(before), 0u) << "the umask of the process is as it was";
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(std::filesystem::status(Path()).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(SocketServerTest, TheSocketOfALivingServerIsLeftAlone) {
  const auto first = Serve(Path());
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Serve(Path());
  EXPECT_EQ(second.status().code(), StatusCode::kAlreadyExists);
  EXPECT_NE(Message(second.status()).find(Path()), std::string::npos) << second.status();
  std::string version;
  EXPECT_TRUE(CallVersion((*first)->address(), &version).ok());
}

TEST_F(SocketServerTest, TheSocketOfAKilledServerIsReplaced) {
  const pid_t killed = fork();
  if (killed == 0) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    Path().copy(address.sun_path, sizeof address.sun_path - 1);
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    const bool bound = bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    _exit(bound && listen(listener, 1) == 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(killed, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(FileExists(Path()));
  ExpectServes(Path());
}

TEST_F(SocketServerTest, AFileThatIsNoSocketIsLeftAlone) {
  ASSERT_TRUE(WriteFileAtomically(Path(), "text").ok());
  EXPECT_EQ(Serve(Path()).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(*ReadFile(Path()), "text");
}

TEST_F(SocketServerTest, ADirectoryThatIsMissingIsNamed) {
  const auto server = Serve(Path("missing/gp.sock"));
  EXPECT_EQ(server.status().code(), StatusCode::kNotFound);
  EXPECT_NE(Message(server.status()).find("missing"), std::string::npos) << server.status();
}

TEST_F(SocketServerTest, AChannelFindsTheNextServerOfItsSocket) {
  const auto channel = MakeChannel("unix:" + Path());
  const auto stub = v1::RunService::NewStub(channel);
  const auto deadline = std::chrono::system_clock::now() + kPatience;
  for (int i = 0; i < 2; ++i) {
    // Wait until the channel has noticed the end of the previous server; otherwise the call would
    // go to that one.
    while (channel->GetState(false) == GRPC_CHANNEL_READY) {
      ASSERT_TRUE(channel->WaitForStateChange(GRPC_CHANNEL_READY, deadline));
    }
    const auto server = Serve(Path());
    ASSERT_TRUE(server.ok()) << server.status();
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(deadline);
    v1::VersionResponse response;
    const Status status = FromGrpc(stub->Version(&context, {}, &response));
    EXPECT_TRUE(status.ok()) << status;
  }
}

}  // namespace
}  // namespace gp::rpc
