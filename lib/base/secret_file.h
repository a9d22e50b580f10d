// Secret files: keys and tokens, which only their owner may read. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gp {

// Creates `directory` and its missing parents with mode 0700, or changes an existing one to 0700.
Status MakeSecretDirectory(const std::string& directory);

// Replaces the file in one piece, mode 0600.
Status WriteSecretFile(const std::string& path, std::string_view text);

// The whole file. NotFound when it is absent; InvalidArgument when it is not a regular file or is
// longer than `size_bytes_max`. PermissionDenied when its group or others have any permission, or
// when it belongs neither to this process' user nor to root. Exception: a file of root's may be
// readable by the group of this process, if that is not root's group, because Kubernetes mounts
// secrets with an fsGroup that way. The message explains the fix and never quotes the file.
StatusOr<std::string> ReadSecretFile(const std::string& path,
                                     uint64_t size_bytes_max = uint64_t{64} << 10);

}  // namespace gp
