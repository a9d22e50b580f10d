// GemmBlocking: how one matrix product is cut: into ranges of rows and columns for threads, and
// within those into blocks that fit the workspace and the caches. It depends only on the product's
// sizes and types, a GemmChoice and the number of threads. Used by gemm.cc. Values and pure
// functions; thread-safe.
#pragma once

#include <cstdint>

#include "worker/engine/backend/cpu/gemm.h"

namespace gp::engine {

// Rows that are multiplied with one packed block.
inline constexpr int64_t kGemmRowsMax = 256;
inline constexpr int64_t kPackedColumnsFloats = 256 * 768;  // 768 KiB of the second-level cache
inline constexpr int64_t kPackedRowsFloats = 256 * kGemmRowsMax;
inline constexpr int64_t kScratchFloats = 1024 * 768;  // room for unfinished sums
inline constexpr int64_t kPackedColumnsBytes = kPackedColumnsFloats * 4;
// Includes room for one vector, which may be written after the last panel.
inline constexpr int64_t kPackedRowsBytes = kPackedRowsFloats * 4 + 64;
inline constexpr int64_t kScratchBytes = kScratchFloats * 4;

struct Range {
  int64_t first = 0;
  int64_t last = 0;
  int64_t size() const { return last - first; }
};

inline int64_t DivideUp(int64_t value, int64_t by) { return (value + by - 1) / by; }

// Range `index` of the `count` ranges that divide [0, total) at multiples of `unit`.
Range Cut(int64_t total, int64_t unit, int64_t index, int64_t count);

// A GemmChoice with every default replaced. Rows belong to the operand that streams, columns to the
// one that is packed. Sizes of k are in 32-bit units.
struct GemmBlocking {
  bool flipped = false;   // the first operand is packed, the rows of the second stream
  int64_t depth = 0;      // units of k between two stores of a tile
  int64_t columns = 0;    // columns packed at a time
  int64_t rows = 0;       // rows packed at a time
  int64_t sums_rows = 0;  // rows whose unfinished sums fit into the scratch
};
// `panel`: columns of a tile.
GemmBlocking BlockingFor(const GemmArgs& args, const GemmChoice& choice, int64_t panel);

// The grid of row ranges and column ranges that threads compute.
struct GemmGrid {
  int64_t rows = 1;
  int64_t columns = 1;
};
// `row_units` and `column_units`: tiles along each side.
GemmGrid GridFor(const GemmArgs& args, const GemmChoice& choice, int64_t row_units,
                 int64_t column_units, int threads);

}  // namespace gp::engine
