// CopyFile: copies the bytes of one file. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace gp {

// Copies the content of `from` into `to`, which is created or overwritten and gets exactly `mode`.
// The bytes are on disk on return; the caller must sync the directory to make a new name durable.
// If others append to `from` meanwhile, the copy has everything that existed at the call, and
// perhaps more. Returns the number of bytes copied. Fails when either path is a symbolic link;
// NotFound when `from` or the directory of `to` does not exist. After an error `to` may be
// incomplete.
StatusOr<uint64_t> CopyFile(const std::string& from, const std::string& to, int mode);

}  // namespace gp
