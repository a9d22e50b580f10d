// TCP sockets of the collectives: owned descriptors that are non-blocking, and the few operations
// on them, each with a deadline. Errors are CollectiveError and name the address. A Socket belongs
// to one thread, except that Sever may come from any.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>

#include "worker/engine/collectives/communicator.h"
#include "worker/engine/collectives/secure_channel.h"

namespace gp::engine {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.fd_), channel_(std::move(other.channel_)) {
    other.fd_ = -1;
  }
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  int fd() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  bool encrypted() const { return channel_ != nullptr; }

  // Encrypts all later traffic. Both ends call it at the same time. Throws the exceptions of
  // SecureChannel.
  void Encrypt(Side side, const ChannelKey& key, SteadyTime deadline, const std::stop_token& stop);

  // Moves bytes of consecutive pieces, as many as the connection takes or has now. Call Send again
  // with the same bytes until they have moved.
  Moved Send(std::span<iovec> pieces) const;
  Moved Receive(std::span<iovec> pieces) const;
  // Whether Receive may return data at once even if poll reports none.
  bool holds_more() const { return channel_ != nullptr && channel_->holds_more(); }

  // Ends both directions but keeps the descriptor: calls in flight on it fail at once.
  void Sever() const;

 private:
  int fd_ = -1;
  std::unique_ptr<SecureChannel> channel_;  // null: not encrypted
};

// Waits until `fd` has one of `events` or `deadline` passed or `stop` was requested; true in the
// first case.
bool WaitReady(int fd, short events, SteadyTime deadline, const std::stop_token& stop);

// Sends or receives all of `bytes`, unencrypted. False when the peer closed, `deadline` passed or
// `stop` was requested. std::logic_error after Encrypt.
bool SendAll(const Socket& socket, std::span<const std::byte> bytes, SteadyTime deadline,
             const std::stop_token& stop);
bool ReceiveAll(const Socket& socket, std::span<std::byte> bytes, SteadyTime deadline,
                const std::stop_token& stop);

// A connection to "host:port"; tries each address of the host in turn, and again after any failure
// to connect, until `deadline`.
Socket ConnectTo(const std::string& address, SteadyTime deadline, const std::stop_token& stop);

// Listens on one local address, at a port that the kernel chooses.
class TcpListener {
 public:
  // `host` is a name or a numeric address of this machine. The first of its addresses that can be
  // listened on is used.
  explicit TcpListener(const std::string& host);

  // host:port, as peers reach it.
  const std::string& address() const { return address_; }
  int fd() const { return socket_.fd(); }

  // A waiting connection, if there is one.
  std::optional<Socket> Accept() const;

 private:
  Socket socket_;
  std::string address_;
};

}  // namespace gp::engine
