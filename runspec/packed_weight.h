// The memory of a packed weight (Backend::Pack): a Linear layer's w (out, in) in the order in which
// products read it, filled up to whole panels whatever the backend's panel is. Pure functions;
// thread-safe.
#pragma once

#include <cstdint>

#include "runspec/align_up.h"

namespace gp::runspec {

// A multiple of the columns of every backend's panel. Pieces of a weight that are packed one by one
// begin at multiples of it.
inline constexpr int64_t kPackedColumns = 48;

// In elements of the type it is computed in; 16-bit ones lie in pairs.
constexpr int64_t PackedWeightElements(int64_t out, int64_t in) {
  return AlignUp(out, kPackedColumns) * AlignUp(in, 2);
}

}  // namespace gp::runspec
