#include "worker/engine/collectives/node_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/passed_file.h"

namespace gp::engine {
namespace {

constexpr size_t kMessageBytesMax = 2048;
constexpr std::chrono::milliseconds kNodeConnectRetry{5};

Socket MakeNodeSocket() {
  Socket socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) {
    throw CollectiveError(std::string("cannot make a local socket: ") + std::strerror(errno));
  }
  return socket;
}

bool IsOwnUser(const Socket& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket.fd(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == geteuid();
}

}  // namespace

NodeListener::NodeListener() : socket_(MakeNodeSocket()) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // With an empty address, the kernel chooses a name.
  if (bind(socket_.fd(), reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)) != 0 ||
      listen(socket_.fd(), SOMAXCONN) != 0) {
    throw CollectiveError(std::string("cannot listen on a local socket: ") + std::strerror(errno));
  }
  socklen_t size = sizeof address;
  getsockname(socket_.fd(), reinterpret_cast<sockaddr*>(&address), &size);
  name_.assign(address.sun_path, size - offsetof(sockaddr_un, sun_path));
}

std::optional<Socket> NodeListener::Accept(SteadyTime deadline, const std::stop_token& stop) const {
  if (!WaitReady(socket_.fd(), POLLIN, deadline, stop)) return std::nullopt;
  Socket visitor(accept4(socket_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!visitor.valid() || !IsOwnUser(visitor)) return std::nullopt;
  return visitor;
}

std::optional<Socket> ConnectToNode(const std::string& name, SteadyTime deadline,
                                    const std::stop_token& stop) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() > sizeof address.sun_path) return std::nullopt;
  std::copy(name.begin(), name.end(), address.sun_path);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  Socket socket = MakeNodeSocket();
  while (connect(socket.fd(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
    const bool is_full = errno == EAGAIN || errno == EINTR;
    if (!is_full || stop.stop_requested()) return std::nullopt;
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(kNodeConnectRetry);
  }
  if (!IsOwnUser(socket)) return std::nullopt;
  return socket;
}

bool SendNodeMessage(const Socket& socket, std::span<const std::byte> bytes, int file) {
  iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
  PassedFile passed;
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (file >= 0) Attach(file, passed, message);
  return sendmsg(socket.fd(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

std::optional<NodeMessage> ReceiveNodeMessage(const Socket& socket, SteadyTime deadline,
                                              const std::stop_token& stop) {
  if (!WaitReady(socket.fd(), POLLIN, deadline, stop)) return std::nullopt;
  NodeMessage received;
  received.bytes.resize(kMessageBytesMax);
  iovec piece{received.bytes.data(), received.bytes.size()};
  PassedFile passed;
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  MakeRoom(passed, message);
  const ssize_t count = recvmsg(socket.fd(), &message, MSG_CMSG_CLOEXEC);
  if (count <= 0) return std::nullopt;
  received.bytes.resize(static_cast<size_t>(count));
  received.file = Socket(FileOf(message));
  return received;
}

}  // namespace gp::engine
