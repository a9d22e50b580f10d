// TCP sockets of the collectives: owned descriptors that are non-blocking, and the few operations
// on them, each with a deadline. Errors are CollectiveError and name the address. A Socket belongs
// to one thread, except that Sever may come from any.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

using SteadyTime = std::chrono::steady_clock::time_point;

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  int fd() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

  // Ends both directions without giving up the descriptor: calls in flight on it fail at once.
  void Sever() const;

 private:
  int fd_ = -1;
};

// Waits until `fd` has one of `events` or `deadline` passed or `stop` was requested; true in the
// first case.
bool WaitReady(int fd, short events, SteadyTime deadline, const std::stop_token& stop);

// Sends or receives all of `bytes`. False when the peer closed, `deadline` passed or `stop` was
// requested.
bool SendAll(const Socket& socket, std::span<const std::byte> bytes, SteadyTime deadline,
             const std::stop_token& stop);
bool ReceiveAll(const Socket& socket, std::span<std::byte> bytes, SteadyTime deadline,
                const std::stop_token& stop);

// A connection to "host:port"; tries again while it is refused, until `deadline`.
Socket ConnectTo(const std::string& address, SteadyTime deadline, const std::stop_token& stop);

// Listens on a port of the kernel's choice of one local address.
class TcpListener {
 public:
  // `host` is a name or a numeric address of this machine.
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
