#include "base/local_message.h"

#include <sys/socket.h>

#include <cerrno>

#include "base/passed_file.h"

namespace gp {

bool SendLocalMessage(int socket, std::string_view bytes, int file) {
  iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
  PassedFile passed;
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (file >= 0) Attach(file, passed, message);
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes.size());
}

std::optional<LocalMessage> ReceiveLocalMessage(int socket, size_t bytes_max) {
  LocalMessage received;
  received.bytes.resize(bytes_max);
  iovec piece{received.bytes.data(), received.bytes.size()};
  PassedFile passed;
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  MakeRoom(passed, message);
  ssize_t count = 0;
  do {
    count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return std::nullopt;
  received.file = FileDescriptor(FileOf(message));
  if ((message.msg_flags & MSG_TRUNC) != 0) return std::nullopt;
  received.bytes.resize(static_cast<size_t>(count));
  return received;
}

}  // namespace gp
