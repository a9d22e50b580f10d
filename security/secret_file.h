// Files that only their owner may read. Functions; may be called from any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::security {

// Makes `directory` with mode 0700, or takes the permissions of others from it when it exists.
Status MakeSecretDirectory(const std::string& directory);

// Replaces the file in one piece, mode 0600.
Status WriteSecretFile(const std::string& path, std::string_view text);

// The whole file. PermissionDenied when others than its owner may read or write it; the message
// says how to close it. NotFound when it is missing.
StatusOr<std::string> ReadSecretFile(const std::string& path, uint64_t size_bytes_max = 1 << 20);

}  // namespace gp::security
