#include "contract/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace gp::link {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// Far timeouts (std::chrono::nanoseconds::max()) must not overflow the clock.
SteadyTime DeadlineAfter(std::chrono::nanoseconds timeout) {
  return std::chrono::steady_clock::now() +
         std::clamp<std::chrono::nanoseconds>(timeout, std::chrono::nanoseconds(0),
                                              std::chrono::hours(24 * 365));
}

int PollMilliseconds(SteadyTime deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, INT_MAX));
}

// False when the deadline passed first. Errors of the socket show in the call that follows.
bool WaitFor(int fd, short events, SteadyTime deadline) {
  while (true) {
    pollfd entry{fd, events, 0};
    const int ready = poll(&entry, 1, PollMilliseconds(deadline));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return true;
  }
}

bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

Channel::Channel(FileDescriptor socket, std::string name, uint32_t received_bytes_max)
    : socket_(std::move(socket)), name_(std::move(name)), received_bytes_max_(received_bytes_max) {}

StatusOr<std::pair<FileDescriptor, FileDescriptor>> Channel::MakePair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "make a socket pair for", "an engine process");
  }
  return std::make_pair(FileDescriptor(ends[0]), FileDescriptor(ends[1]));
}

Status Channel::Send(const Message& message, std::chrono::nanoseconds timeout) {
  const std::string frame = EncodeFrame(message);
  if (frame.size() - kHeaderBytes > kPayloadBytesMax) {
    return InvalidArgument("link to {}: a message of {} bytes is above the limit of {}", name_,
                           frame.size() - kHeaderBytes, kPayloadBytesMax);
  }
  const SteadyTime deadline = DeadlineAfter(timeout);
  MutexLock lock(send_mutex_);
  size_t sent = 0;
  while (sent < frame.size()) {
    const ssize_t count =
        send(socket_.get(), frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      sent += static_cast<size_t>(count);
    } else if (WouldBlock(errno)) {
      if (WaitFor(socket_.get(), POLLOUT, deadline)) continue;
      // Part of a frame may be in the socket, so no other frame can follow.
      if (sent > 0) Shutdown();
      return DeadlineExceeded("link to {}: the peer does not read its messages", name_);
    } else if (errno != EINTR) {
      return Unavailable("link to {}: the peer is gone", name_);
    }
  }
  return OkStatus();
}

StatusOr<std::optional<Message>> Channel::Receive(std::chrono::nanoseconds timeout) {
  const SteadyTime deadline = DeadlineAfter(timeout);
  while (true) {
    auto next = TakeFrame();
    if (!next.ok() || next->has_value()) return next;
    if (!WaitFor(socket_.get(), POLLIN, deadline)) return std::optional<Message>();
    RETURN_IF_ERROR(ReadSome());
  }
}

// The first complete message of a known type in received_; nullopt when more bytes are needed.
StatusOr<std::optional<Message>> Channel::TakeFrame() {
  while (received_.size() >= kHeaderBytes) {
    const auto header = DecodeHeader(received_);
    if (!header.ok()) return WithContext(header.status(), "link to " + name_);
    if (header->payload_bytes > received_bytes_max_) {
      return DataLoss("link to {}: a frame has {} bytes; at most {} are allowed", name_,
                      header->payload_bytes, received_bytes_max_);
    }
    const size_t frame_bytes = kHeaderBytes + header->payload_bytes;
    if (received_.size() < frame_bytes) break;
    auto message = DecodePayload(
        header->type, std::string_view(received_).substr(kHeaderBytes, header->payload_bytes));
    received_.erase(0, frame_bytes);
    if (message.ok()) return std::optional<Message>(std::move(*message));
    if (message.status().code() != StatusCode::kUnimplemented) {
      return WithContext(message.status(), "link to " + name_);
    }
  }
  return std::optional<Message>();
}

Status Channel::ReadSome() {
  char buffer[1 << 16];
  const ssize_t count = recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (count > 0) received_.append(buffer, static_cast<size_t>(count));
  if (count > 0 || (count < 0 && (errno == EINTR || WouldBlock(errno)))) return OkStatus();
  return Unavailable("link to {}: the peer closed it{}", name_,
                     received_.empty() ? "" : " in the middle of a frame");
}

void Channel::Shutdown() { shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace gp::link
