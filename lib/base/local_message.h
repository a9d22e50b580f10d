// Messages between processes of one machine, over a socket that keeps their bounds
// (SOCK_SEQPACKET). Each may carry a descriptor. Functions may be called from any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"

namespace gp {

struct LocalMessage {
  std::string bytes;
  FileDescriptor file;  // not valid when none came with the message
};

// Sends `bytes`, with a copy of `file` unless that is negative. False and errno when the peer is
// gone or the message is too large.
bool SendLocalMessage(int socket, std::string_view bytes, int file = -1);

// Nullopt when the peer is gone, when there is no message on a non-blocking socket, or when the
// message is longer than `bytes_max`.
std::optional<LocalMessage> ReceiveLocalMessage(int socket, size_t bytes_max);

}  // namespace gp
