// Completes a symmetric matrix of which only one half was computed. Pure function; thread-safe on
// disjoint ranges of rows.
#pragma once

#include <cstdint>

namespace gp::engine {

// Rows that are mirrored together; a range of rows begins at a multiple of it.
inline constexpr int64_t kMirrorRows = 4;

// c (size, size): copies the elements left of the diagonal in rows [first, last) to their places
// above it.
void MirrorLowerHalf(float* c, int64_t size, int64_t first, int64_t last);

}  // namespace gp::engine
