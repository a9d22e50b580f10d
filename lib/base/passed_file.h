// An open file that a message carries to another process of this machine, over a Unix socket.
// Functions may be called from any thread. Needs only the standard library.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstring>

namespace gp {

// Control data that a message carries besides its bytes. It must live as long as the message.
struct alignas(cmsghdr) PassedFile {
  std::array<char, CMSG_SPACE(sizeof(int))> bytes{};
};

// Makes room in `message` for a file that may be received with it.
inline void MakeRoom(PassedFile& room, msghdr& message) {
  message.msg_control = room.bytes.data();
  message.msg_controllen = room.bytes.size();
}

// Attaches `file` to `message`: the receiver gets a copy of the descriptor.
inline void Attach(int file, PassedFile& room, msghdr& message) {
  MakeRoom(room, message);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(header), &file, sizeof file);
}

// The descriptor that came with `message`, owned by the caller; -1 if none came.
inline int FileOf(msghdr& message) {
  const cmsghdr* control = CMSG_FIRSTHDR(&message);
  const bool is_file = control != nullptr && control->cmsg_level == SOL_SOCKET &&
                       control->cmsg_type == SCM_RIGHTS &&
                       control->cmsg_len == CMSG_LEN(sizeof(int));
  if (!is_file) return -1;
  int file = -1;
  std::memcpy(&file, CMSG_DATA(control), sizeof file);
  return file;
}

}  // namespace gp
