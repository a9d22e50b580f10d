// An unknown peer connects to a group of ranks, in both roles. As a caller, it sends arbitrary
// bytes to a rank that waits for its peer: it is refused, and the real peer can still connect. As
// the called rank, it answers with arbitrary bytes: the caller never accepts it as its peer. The
// first byte of the input selects the role.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "worker/engine/collectives/tcp_group.h"
#include "worker/engine/collectives/tcp_handshake.h"

namespace {

using namespace gp::engine;
using Bytes = std::span<const std::byte>;

SteadyTime Later() { return std::chrono::steady_clock::now() + std::chrono::seconds(5); }

GroupOptions Options(int rank, const std::vector<std::string>& addresses) {
  return {.run_id = "run",
          .epoch = 3,
          .rank = rank,
          .logical_shards = 2,
          .addresses = addresses,
          .secret = "a secret that nobody guesses",
          .connect_timeout = std::chrono::milliseconds(5000)};
}

// The number of bytes that the other side reads as a greeting.
size_t GreetingBytes(Bytes bytes) {
  if (bytes.size() < kGreetingHeaderBytes) return bytes.size();
  const auto body = DecodeGreetingHeader(bytes.first<kGreetingHeaderBytes>());
  return std::min(bytes.size(), kGreetingHeaderBytes + body.value_or(bytes.size()));
}

// Sends the bytes after the greeting only once the challenge has arrived, so that they are read as
// a proof.
void Visit(const std::string& address, Bytes bytes) {
  const Socket socket = ConnectTo(address, Later(), {});
  const Bytes first = bytes.first(GreetingBytes(bytes));
  std::byte answer{};
  if (SendAll(socket, first, Later(), {}) && first.size() < bytes.size()) {
    (void)ReceiveAll(socket, {&answer, 1}, Later(), {});
    (void)SendAll(socket, bytes.subspan(first.size()), Later(), {});
  }
  shutdown(socket.fd(), SHUT_WR);
  while (ReceiveAll(socket, {&answer, 1}, Later(), {})) continue;
}

void TryAsCaller(Bytes bytes) {
  static const TcpListener listener("127.0.0.1");
  static const TcpListener other("127.0.0.1");
  const std::vector<std::string> addresses = {listener.address(), other.address()};
  std::optional<TcpGroup> first;
  std::jthread awaiting(
      [&] { first = ConnectTcpGroup(Options(0, addresses), listener, std::stop_token()); });
  Visit(addresses[0], bytes);
  const TcpGroup second = ConnectTcpGroup(Options(1, addresses), other, std::stop_token());
  awaiting.join();
  GP_CHECK(first->strangers == 1 && first->peers[1].valid() && second.peers[0].valid());
}

void TryAsCalled(Bytes bytes) {
  static const TcpListener impostor("127.0.0.1");
  static const TcpListener own("127.0.0.1");
  std::jthread answering([&] {
    GP_CHECK(WaitReady(impostor.fd(), POLLIN, Later(), {}));
    const auto socket = impostor.Accept();
    GP_CHECK(socket.has_value());
    (void)SendAll(*socket, bytes, Later(), {});
    shutdown(socket->fd(), SHUT_WR);
    std::byte sent{};
    while (ReceiveAll(*socket, {&sent, 1}, Later(), {})) continue;
  });
  try {
    (void)ConnectTcpGroup(Options(1, {impostor.address(), own.address()}), own, std::stop_token());
    GP_CHECK(false, "a rank took an impostor for its peer");
  } catch (const CollectiveError& error) {
    GP_CHECK(std::string(error.what()).find("rank 0") != std::string::npos, "{}", error.what());
  }
}

void TryParsers(Bytes bytes) {
  if (bytes.size() < kGreetingHeaderBytes) return;
  const auto size = DecodeGreetingHeader(bytes.first<kGreetingHeaderBytes>());
  if (!size) return;
  GP_CHECK(*size <= kGreetingBodyBytesMax);
  if (bytes.size() < kGreetingHeaderBytes + *size) return;
  const auto greeting = DecodeGreeting(bytes.first(kGreetingHeaderBytes + *size));
  if (!greeting) return;
  const auto again = EncodeGreeting(*greeting);
  GP_CHECK(std::equal(again.begin(), again.end(), bytes.begin()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Bytes bytes = std::as_bytes(std::span(data, size)).subspan(1);
  TryParsers(bytes);
  (data[0] % 2 == 0 ? TryAsCaller : TryAsCalled)(bytes);
  return 0;
}
