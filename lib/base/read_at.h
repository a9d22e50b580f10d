// Reads a part of an open file without moving its position. Any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace gp {

// Fills `to` from byte `offset` on and returns how many bytes were read: fewer than requested only
// at the end of the file. `path` is for messages.
StatusOr<size_t> ReadAt(int fd, uint64_t offset, std::span<char> to, const std::string& path);

}  // namespace gp
