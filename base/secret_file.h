// Secret files: keys and tokens, which only their owner may read. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace gp {

// The whole file. NotFound when it is absent. PermissionDenied when another user may read or
// write it, or when it belongs neither to this process' user nor to root. The message says how to
// mend it and holds nothing of the content.
StatusOr<std::string> ReadSecretFile(const std::string& path,
                                     uint64_t size_bytes_max = uint64_t{64} << 10);

}  // namespace gp
