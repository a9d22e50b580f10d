// Messages between processes of one machine, over a socket that preserves message boundaries
// (SOCK_SEQPACKET). Each may carry a file descriptor. Functions may be called from any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"

namespace gp {

struct LocalMessage {
  std::string bytes;
  FileDescriptor file;  // not valid if the message came without a file
};

// Sends `bytes`, with a copy of `file` unless that is negative. Returns false and sets errno if the
// peer is gone, the message is too large, or a non-blocking socket is full.
bool SendLocalMessage(int socket, std::string_view bytes, int file = -1);

// Nullopt when the peer is gone, when there is no message on a non-blocking socket, or when the
// message is longer than `bytes_max`.
std::optional<LocalMessage> ReceiveLocalMessage(int socket, size_t bytes_max);

}  // namespace gp
