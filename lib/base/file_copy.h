// CopyFile: copies the bytes of one file. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace gp {

// Creates `to`, or replaces its content, with the content of `from`; the bytes are on disk on
// return, the name is once the caller syncs the directory. If others append to the file meanwhile,
// the copy has everything that existed at the call, and perhaps more. Returns the bytes copied.
// NotFound when `from` does not exist.
StatusOr<uint64_t> CopyFile(const std::string& from, const std::string& to, int mode);

}  // namespace gp
