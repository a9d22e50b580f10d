// The memory of a packed weight (Backend::Pack): a Linear layer's w (out, in) in the order in which
// matrix products read it, padded to whole panels of every backend. Pure functions; thread-safe.
#pragma once

#include <cstdint>

#include "plan/align_up.h"

namespace gp::runspec {

// A multiple of every backend's panel width. A separately packed piece of a weight must begin at a
// multiple of it.
inline constexpr int64_t kPackedColumns = 48;

// In elements of the compute type; 16-bit elements are stored in pairs.
constexpr int64_t PackedWeightElements(int64_t out, int64_t in) {
  return AlignUp(out, kPackedColumns) * AlignUp(in, 2);
}

}  // namespace gp::runspec
