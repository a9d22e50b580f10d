// SecureChannel: TLS 1.3 over the connection of two ranks that have proved to each other that they
// know the secret of their epoch (tcp_handshake.h). OpenSSL does all of it. There are no
// certificates: both sides derive the key from the secret and the handshake, and a peer without the
// key cannot connect. Bytes: docs/formats/collectives.md. Owned by a Socket, whose thread calls;
// severing the socket ends every call.
#pragma once

#include <openssl/types.h>
#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "worker/engine/collectives/tcp_handshake.h"

namespace gp::engine {

using SteadyTime = std::chrono::steady_clock::time_point;

// The result of one call, which moves as much as the connection takes or holds now.
struct Moved {
  size_t bytes = 0;
  std::string lost;  // why the connection was lost; empty while it exists
};

class SecureChannel {
 public:
  // Bytes after which the sender changes its key: far fewer than AES-GCM may encrypt with one.
  static constexpr size_t kBytesPerKey = size_t{256} << 20;

  // TLS's handshake over the non-blocking `fd`, which stays the caller's. CollectiveError with the
  // reason when the peer has another key, or does not answer before `deadline` or `stop`.
  SecureChannel(int fd, Side side, const ChannelKey& key, SteadyTime deadline,
                const std::stop_token& stop);
  ~SecureChannel();
  SecureChannel(const SecureChannel&) = delete;
  SecureChannel& operator=(const SecureChannel&) = delete;

  // Call Send again with the same bytes until they have moved.
  Moved Send(std::span<const iovec> pieces);
  Moved Receive(std::span<const iovec> pieces);

  // Whether Receive may return data at once even if poll reports none: OpenSSL may have read it
  // already.
  bool holds_more() const { return holds_more_; }

 private:
  void Shake(int fd, SteadyTime deadline, const std::stop_token& stop);
  // Why the last call failed with `result`; empty if it must be repeated later.
  std::string WhyNot(int result) const;
  Moved Stopped(int result, Moved moved);
  void ChangeKeyWhenDue();

  ChannelKey key_;
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  std::unique_ptr<SSL, void (*)(SSL*)> tls_;
  size_t bytes_with_key_ = 0;
  bool record_waits_ = false;  // an encrypted record is not sent entirely
  bool holds_more_ = false;
  std::string lost_;
};

}  // namespace gp::engine
