// SocketName: a name under which the kernel finds a Unix socket. The kernel accepts names of 107
// bytes; a longer path is named through a descriptor of its directory: "/proc/self/fd/9/gp.sock".
// Keep the object for as long as the name is used. A value, used by one thread at a time.
#pragma once

#include <string>

#include "base/file.h"
#include "base/status.h"

namespace gp::rpc {

class SocketName {
 public:
  // NotFound or PermissionDenied when the directory of a long path cannot be opened;
  // InvalidArgument when its last part alone is too long (about 80 bytes).
  static StatusOr<SocketName> Of(const std::string& path);

  const std::string& text() const { return text_; }
  // As gRPC expects it: "unix:" and the name with URI characters escaped.
  std::string Target() const;

 private:
  SocketName(std::string text, FileDescriptor directory)
      : text_(std::move(text)), directory_(std::move(directory)) {}

  std::string text_;
  FileDescriptor directory_;  // open when the path is too long for a socket address
};

}  // namespace gp::rpc
