#include "worker/engine/collectives/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>

namespace gp::engine {
namespace {

using std::chrono::milliseconds;

// How late a wait may notice a stop request.
constexpr milliseconds kStopLatency{20};
constexpr milliseconds kConnectRetry{20};

std::string Reason(int error) { return std::strerror(error); }

bool Transient(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

msghdr MessageOf(std::span<iovec> pieces) {
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  return message;
}

// Converts `count`, the return value of sendmsg or recvmsg.
Moved MovedBy(ssize_t count) {
  if (count > 0) return {.bytes = static_cast<size_t>(count), .lost = ""};
  if (count == 0) return {.bytes = 0, .lost = "it closed the connection"};
  return {.bytes = 0, .lost = Transient(errno) ? "" : Reason(errno)};
}

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList Resolve(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) {
    throw CollectiveError("cannot resolve host '" + host + "': " + gai_strerror(error));
  }
  return AddressList(found, &freeaddrinfo);
}

// "host:port" or "[v6]:port".
std::pair<std::string, std::string> SplitAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    throw CollectiveError("'" + address + "' is not host:port");
  }
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return {host, address.substr(colon + 1)};
}

// Invalid, with errno set, when the kernel has no such sockets or descriptors are used up.
Socket MakeSocket(const addrinfo& info) {
  return Socket(::socket(info.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// Throws if the socket is encrypted, because raw bytes would bypass the encryption.
void CheckNotEncrypted(const Socket& socket) {
  if (socket.encrypted()) throw std::logic_error("unencrypted bytes for an encrypted connection");
}

void SendWithoutDelay(const Socket& socket) {
  const int on = 1;
  setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// One attempt; returns 0 or the error number.
int TryConnect(const addrinfo& info, SteadyTime deadline, const std::stop_token& stop,
               Socket& connected) {
  Socket socket = MakeSocket(info);
  if (!socket.valid()) return errno;
  if (connect(socket.fd(), info.ai_addr, info.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    if (!WaitReady(socket.fd(), POLLOUT, deadline, stop)) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return error;
  }
  connected = std::move(socket);
  return 0;
}

int CountOf(const addrinfo* info) {
  int count = 0;
  for (; info != nullptr; info = info->ai_next) ++count;
  return count;
}

// One attempt at each address. An address that does not answer takes only its part of the time, so
// the others get theirs.
int TryEach(const addrinfo* info, SteadyTime deadline, const std::stop_token& stop,
            Socket& connected) {
  int error = 0;
  for (; info != nullptr && !stop.stop_requested(); info = info->ai_next) {
    const auto now = std::chrono::steady_clock::now();
    error = TryConnect(*info, now + (deadline - now) / CountOf(info), stop, connected);
    if (error == 0) return 0;
  }
  return error;
}

// 0, or the error number.
int TryListen(const addrinfo& info, Socket& listening) {
  Socket socket = MakeSocket(info);
  if (!socket.valid() || bind(socket.fd(), info.ai_addr, info.ai_addrlen) != 0 ||
      listen(socket.fd(), SOMAXCONN) != 0) {
    return errno;
  }
  listening = std::move(socket);
  return 0;
}

int PortOf(const Socket& socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&name), &size);
  if (name.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6*>(&name)->sin6_port);
  return ntohs(reinterpret_cast<sockaddr_in*>(&name)->sin_port);
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(channel_, other.channel_);
  return *this;
}

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

void Socket::Encrypt(Side side, const ChannelKey& key, SteadyTime deadline,
                     const std::stop_token& stop) {
  channel_ = std::make_unique<SecureChannel>(fd_, side, key, deadline, stop);
}

Moved Socket::Send(std::span<iovec> pieces) const {
  if (channel_) return channel_->Send(pieces);
  msghdr message = MessageOf(pieces);
  return MovedBy(sendmsg(fd_, &message, MSG_NOSIGNAL));
}

Moved Socket::Receive(std::span<iovec> pieces) const {
  if (channel_) return channel_->Receive(pieces);
  msghdr message = MessageOf(pieces);
  return MovedBy(recvmsg(fd_, &message, 0));
}

void Socket::Sever() const { shutdown(fd_, SHUT_RDWR); }

bool WaitReady(int fd, short events, SteadyTime deadline, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() < 0) return false;
    pollfd entry{fd, events, 0};
    const milliseconds slice = stop.stop_possible() ? std::min(left, kStopLatency) : left;
    const int ready = poll(&entry, 1, static_cast<int>(slice.count()));
    if (ready > 0) return true;
    if (ready == 0 && left.count() == 0) return false;
  }
  return false;
}

bool SendAll(const Socket& socket, std::span<const std::byte> bytes, SteadyTime deadline,
             const std::stop_token& stop) {
  CheckNotEncrypted(socket);
  while (!bytes.empty()) {
    const ssize_t count = send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(count));
    } else if (!Transient(errno) || !WaitReady(socket.fd(), POLLOUT, deadline, stop)) {
      return false;
    }
  }
  return true;
}

bool ReceiveAll(const Socket& socket, std::span<std::byte> bytes, SteadyTime deadline,
                const std::stop_token& stop) {
  CheckNotEncrypted(socket);
  while (!bytes.empty()) {
    const ssize_t count = recv(socket.fd(), bytes.data(), bytes.size(), 0);
    if (count == 0) return false;
    if (count > 0) {
      bytes = bytes.subspan(static_cast<size_t>(count));
    } else if (!Transient(errno) || !WaitReady(socket.fd(), POLLIN, deadline, stop)) {
      return false;
    }
  }
  return true;
}

Socket ConnectTo(const std::string& address, SteadyTime deadline, const std::stop_token& stop) {
  const auto [host, port] = SplitAddress(address);
  const AddressList found = Resolve(host, port);
  int error = 0;
  while (!stop.stop_requested()) {
    Socket socket;
    error = TryEach(found.get(), deadline, stop, socket);
    if (error == 0) {
      SendWithoutDelay(socket);
      return socket;
    }
    if (std::chrono::steady_clock::now() + kConnectRetry >= deadline) break;
    std::this_thread::sleep_for(kConnectRetry);
  }
  if (stop.stop_requested()) throw CollectiveError("connecting to " + address + " was aborted");
  throw CollectiveError("cannot connect to " + address + ": " + Reason(error));
}

TcpListener::TcpListener(const std::string& host) {
  const AddressList found = Resolve(host, "0");
  int error = 0;
  for (const addrinfo* info = found.get(); info != nullptr; info = info->ai_next) {
    error = TryListen(*info, socket_);
    if (error == 0) break;
  }
  if (error != 0) throw CollectiveError("cannot listen on " + host + ": " + Reason(error));
  const bool v6 = host.find(':') != std::string::npos;
  address_ = (v6 ? "[" + host + "]" : host) + ":" + std::to_string(PortOf(socket_));
}

std::optional<Socket> TcpListener::Accept() const {
  Socket socket(accept4(socket_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.valid()) return std::nullopt;
  SendWithoutDelay(socket);
  return socket;
}

}  // namespace gp::engine
