// Sockets of the collectives. In this program, the name "two.test" has two addresses: 127.0.0.2
// first, then 127.0.0.1.
#include "worker/engine/collectives/socket.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <poll.h>

#include <array>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace gp::engine {
namespace {

SteadyTime Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(30); }

Socket AcceptFrom(const TcpListener& listener) {
  EXPECT_TRUE(WaitReady(listener.fd(), POLLIN, Soon(), {}));
  auto accepted = listener.Accept();
  EXPECT_TRUE(accepted.has_value());
  return accepted ? std::move(*accepted) : Socket();
}

std::string NameInsteadOf(const TcpListener& listener) {
  return "two.test" + listener.address().substr(listener.address().rfind(':'));
}

TEST(Sockets, ConnectToTheAddressOfAHostThatAnswers) {
  const TcpListener second("127.0.0.1");
  EXPECT_TRUE(ConnectTo(NameInsteadOf(second), Soon(), {}).valid());
  EXPECT_TRUE(AcceptFrom(second).valid());
  const TcpListener first("127.0.0.2");
  EXPECT_TRUE(ConnectTo(NameInsteadOf(first), Soon(), {}).valid());
  EXPECT_TRUE(AcceptFrom(first).valid());
}

TEST(Sockets, AHostThatDoesNotAnswerIsNamed) {
  std::string address;
  { address = NameInsteadOf(TcpListener("127.0.0.1")); }
  try {
    ConnectTo(address, std::chrono::steady_clock::now() + std::chrono::milliseconds(50), {});
    FAIL() << "connected to nothing";
  } catch (const CollectiveError& error) {
    EXPECT_EQ(error.what(), "cannot connect to " + address + ": Connection refused");
  }
}

TEST(Sockets, NothingBypassesTheEncryption) {
  const TcpListener listener("127.0.0.1");
  Socket caller = ConnectTo(listener.address(), Soon(), {});
  Socket called = AcceptFrom(listener);
  std::array<std::byte, 3> bytes{};
  EXPECT_TRUE(SendAll(caller, bytes, Soon(), {}));
  EXPECT_TRUE(ReceiveAll(called, bytes, Soon(), {}));
  const ChannelKey key{};
  std::jthread other([&] { called.Encrypt(Side::kCalled, key, Soon(), {}); });
  caller.Encrypt(Side::kCaller, key, Soon(), {});
  other.join();
  for (const Socket* socket : {&caller, &called}) {
    EXPECT_THROW(SendAll(*socket, bytes, Soon(), {}), std::logic_error);
    EXPECT_THROW(ReceiveAll(*socket, bytes, Soon(), {}), std::logic_error);
  }
}

}  // namespace
}  // namespace gp::engine

// Replaces the C library's function. freeaddrinfo frees list entries one by one, so two lists may
// be concatenated.
extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* hints,
                           addrinfo** found) {
  using Function = int(const char*, const char*, const addrinfo*, addrinfo**);
  static auto* const replaced = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if (host == nullptr || std::string_view(host) != "two.test") {
    return replaced(host, port, hints, found);
  }
  addrinfo* second = nullptr;
  if (const int error = replaced("127.0.0.1", port, hints, &second); error != 0) return error;
  if (const int error = replaced("127.0.0.2", port, hints, found); error != 0) return error;
  (*found)->ai_next = second;
  return 0;
}
