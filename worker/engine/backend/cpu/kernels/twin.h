// The arithmetic of tiles.h with AVX-512: whole blocks, products of few rows, products with packed
// weights. Included by kernels_twin.cc only.
#pragma once

#include "worker/engine/backend/cpu/kernels/gemm_pack.h"
#include "worker/engine/backend/cpu/kernels/gemm_skinny.h"
#include "worker/engine/backend/cpu/kernels/tiles.h"
#include "worker/engine/backend/cpu/kernels/vector.h"

namespace gp::engine::GP_ISA_NAMESPACE {

static_assert(kWidth == kTileSide);

// Rounds to nearest even, flushes denormals and masks exceptions while it exists. The arithmetic is
// in functions that are not inlined, because the compiler may move it across this.
class TileRounding {
 public:
  TileRounding() : before_(_mm_getcsr()) { _mm_setcsr(kMasked | kFlushToZero | kDenormalsAreZero); }
  ~TileRounding() { _mm_setcsr(before_); }
  TileRounding(const TileRounding&) = delete;
  TileRounding& operator=(const TileRounding&) = delete;

 private:
  static constexpr uint32_t kMasked = 0x1f80;
  static constexpr uint32_t kFlushToZero = 0x8000;
  static constexpr uint32_t kDenormalsAreZero = 0x0040;
  const uint32_t before_;
};

inline Vec CanonicalNan(Vec value) {
  const Vec nan = reinterpret_cast<Vec>(VecU{} + 0x7fc00000u);
  return value == value ? value : nan;
}

inline Vec EvenOf(VecU pairs) { return reinterpret_cast<Vec>(pairs << 16); }
inline Vec OddOf(VecU pairs) { return reinterpret_cast<Vec>(pairs & 0xffff0000u); }

inline VecU LoadUnits(const void* from) { return *static_cast<const UnalignedVecU*>(from); }

// The two chains of `kRows` rows of a block, one element of C in each lane.
template <int kRows>
struct Chains {
  Vec even[kRows] = {};
  Vec odd[kRows] = {};

  [[gnu::always_inline]] void Add(int row, float a_even, float a_odd, Vec b_even, Vec b_odd) {
    even[row] = _mm512_fmadd_ps(Splat(a_even), b_even, even[row]);
    odd[row] = _mm512_fmadd_ps(Splat(a_odd), b_odd, odd[row]);
  }
  // As products of zeros do: -0 becomes +0.
  [[gnu::always_inline]] void FillUp() {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      even[r] = _mm512_add_ps(even[r], Vec{});
      odd[r] = _mm512_add_ps(odd[r], Vec{});
    }
  }
  // c + the block's sum; the next block begins at +0.
  [[gnu::always_inline]] Vec EndBlock(int row, Vec c) {
    const Vec sum = _mm512_add_ps(c, _mm512_add_ps(even[row], odd[row]));
    even[row] = odd[row] = Vec{};
    return sum;
  }
};

// A block of k of both operands, widened to fp32: rows of A as 16 even and 16 odd elements, and for
// each unit of B the even elements of all columns before the odd ones.
struct WidenedBlock {
  alignas(64) float a[kBlockSide][2][kTileUnits];
  alignas(64) float b[kTileUnits][2][kBlockSide];

  void Widen(const TileBlock& block, int64_t k_block) {
    for (int64_t r = 0; r < block.row_tiles * kTileSide; ++r) {
      const VecU pairs = LoadUnits(block.a + r * block.a_stride + k_block * kTileDepth);
      Store(a[r][0], EvenOf(pairs));
      Store(a[r][1], OddOf(pairs));
    }
    for (int64_t u = 0; u < kTileUnits; ++u) {
      const uint32_t* from = block.b + (k_block * kTileUnits + u) * block.b_stride;
      for (int64_t v = 0; v < block.column_tiles; ++v) {
        const VecU pairs = LoadUnits(from + v * kWidth);
        Store(b[u][0] + v * kWidth, EvenOf(pairs));
        Store(b[u][1] + v * kWidth, OddOf(pairs));
      }
    }
  }
};

// kRows rows of a widened block: 4 x 2 x 2 chains hide the latency of the FMAs.
template <int kRows, int kVectors>
inline void AddBlockRows(const WidenedBlock& wide, const TileBlock& block, int64_t row, bool first,
                         bool last) {
  Chains<kRows> chains[kVectors];
  for (int64_t u = 0; u < kTileUnits; ++u) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const Vec b_even = Load(wide.b[u][0] + v * kWidth);
      const Vec b_odd = Load(wide.b[u][1] + v * kWidth);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        chains[v].Add(r, wide.a[row + r][0][u], wide.a[row + r][1][u], b_even, b_odd);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      float* c = block.c + (row + r) * block.ldc + v * kWidth;
      const Vec sum = chains[v].EndBlock(r, first ? Vec{} : Load(c));
      Store(c, last ? CanonicalNan(sum) : sum);
    }
  }
}

[[gnu::noinline]] void MultiplyBlocks(const TileBlock& block) {
  constexpr int kRowsAtOnce = 4;
  WidenedBlock wide;
  for (int64_t k = 0; k < block.blocks; ++k) {
    wide.Widen(block, k);
    const bool first = k == 0 && !block.accumulate;
    const bool last = block.last && k + 1 == block.blocks;
    for (int64_t row = 0; row < block.row_tiles * kTileSide; row += kRowsAtOnce) {
      if (block.column_tiles == 2) {
        AddBlockRows<kRowsAtOnce, 2>(wide, block, row, first, last);
      } else {
        AddBlockRows<kRowsAtOnce, 1>(wide, block, row, first, last);
      }
    }
  }
}

inline void MultiplyBlock(const TileBlock& block) {
  const TileRounding rounding;
  MultiplyBlocks(block);
}

// Products of a few rows; A is packed as for SkinnyBf16, odd elements before even ones.
template <int kRows>
[[gnu::noinline]] void TwinSkinnyRows(const SkinnyBlock& block) {
  const auto* a = static_cast<const float*>(block.a);
  Chains<kRows> chains;
  Vec sums[kRows] = {};
  const auto end_block = [&] {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sums[r] = chains.EndBlock(r, sums[r]);
  };
  SkinnyColumns(block).ForEach([&](int64_t unit, VecU column) {
    const float* odd = a + unit * 2 * kTileRows;
    const float* even = odd + kTileRows;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      chains.Add(r, even[r], odd[r], EvenOf(column), OddOf(column));
    }
    if (unit % kTileUnits == kTileUnits - 1) end_block();
  });
  if (block.k % kTileDepth != 0) {
    chains.FillUp();
    end_block();
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) Store(block.sums + r * kWidth, CanonicalNan(sums[r]));
}

template <int kRows = kTileRows>
void TwinSkinnyOf(const SkinnyBlock& block) {
  if (block.rows == kRows) return TwinSkinnyRows<kRows>(block);
  if constexpr (kRows > 1) TwinSkinnyOf<kRows - 1>(block);
}

// Up to 4 rows of a packed panel; A's rows are widened, odd elements before even ones.
template <int kRows>
[[gnu::noinline]] void TwinPanelRows(const PanelBlock& block, int64_t row) {
  constexpr int64_t kPanel = int64_t{kTileVectors} * kWidth;
  const float* a = static_cast<const float*>(block.a) + row * block.a_stride;
  const auto* b = static_cast<const uint32_t*>(block.b);
  const auto* ahead = static_cast<const char*>(block.ahead);
  float* sums = block.sums + row * kPanel;
  for (int64_t unit = 0; unit < block.units; unit += kTileUnits) {
    const int64_t last = unit + kTileUnits < block.units ? unit + kTileUnits : block.units;
    Chains<kRows> chains[kTileVectors];
    for (int64_t u = unit; u < last; ++u) {
      __builtin_prefetch(ahead, 0, 2);
      ahead += 2 * block.ahead_step;
#pragma GCC unroll 3
      for (int v = 0; v < kTileVectors; ++v) {
        const VecU pairs = LoadUnits(b + u * kPanel + v * kWidth);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          const float* pair = a + r * block.a_stride + 2 * u;
          chains[v].Add(r, pair[1], pair[0], EvenOf(pairs), OddOf(pairs));
        }
      }
    }
    const bool first = unit == 0 && !block.accumulate;
    for (int v = 0; v < kTileVectors; ++v) {
      if (last - unit < kTileUnits) chains[v].FillUp();
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        float* c = sums + r * kPanel + v * kWidth;
        Store(c, CanonicalNan(chains[v].EndBlock(r, first ? Vec{} : Load(c))));
      }
    }
  }
}

template <int kRows = 4>
void TwinPanelOf(const PanelBlock& block, int64_t row, int64_t rows) {
  if (rows >= kRows) return TwinPanelRows<kRows>(block, row);
  if constexpr (kRows > 1) TwinPanelOf<kRows - 1>(block, row, rows);
}

// A tile of rows from an operand whose k is contiguous.
inline void CopyTileRow(const uint16_t* from, int64_t k_count, uint16_t* to) {
  for (int64_t k = 0; k < k_count; k += kTileDepth) {
    const int64_t left = k_count - k;
    const auto lanes = left >= kTileDepth ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
    _mm512_storeu_si512(to + k, _mm512_maskz_loadu_epi16(lanes, from + k));
  }
}

// One tile from an operand whose rows are contiguous: pairs elements of rows 2u and 2u + 1 of k, as
// PackPairing does, and transposes.
inline void TransposeTile(const uint16_t* from, int64_t ld, int64_t i_count, int64_t k_count,
                          uint16_t* to, int64_t stride) {
  VecU units[kWidth];
  const __mmask16 lanes = FirstLanes(i_count < kWidth ? i_count : kWidth);
  for (int64_t u = 0; u < kWidth; ++u) {
    const uint16_t* even = from + 2 * u * ld;
    const __mmask16 low = 2 * u < k_count ? lanes : __mmask16{0};
    const __mmask16 high = 2 * u + 1 < k_count ? lanes : __mmask16{0};
    const auto pair_low = reinterpret_cast<VecH>(_mm256_maskz_loadu_epi16(low, even));
    const auto pair_high = reinterpret_cast<VecH>(_mm256_maskz_loadu_epi16(high, even + ld));
    units[u] =
        __builtin_convertvector(pair_low, VecU) | (__builtin_convertvector(pair_high, VecU) << 16);
  }
  Transpose(units);
#pragma GCC unroll 16
  for (int r = 0; r < kWidth; ++r) {
    __builtin_memcpy(to + r * stride, &units[r], sizeof(units[r]));
  }
}

inline void PackTileRows(const TileRows& rows) {
  const auto* data = static_cast<const uint16_t*>(rows.from.data.data);
  const int64_t ld = rows.from.ld;
  for (int64_t i = 0; i < rows.i_count; i += kTileSide) {
    uint16_t* to = rows.to + i * rows.stride;
    if (!rows.from.k_contiguous) {
      for (int64_t k = 0; k < rows.k_count; k += kTileDepth) {
        TransposeTile(data + (rows.k_first + k) * ld + rows.i_first + i, ld, rows.i_count - i,
                      rows.k_count - k, to + k, rows.stride);
      }
      continue;
    }
    for (int64_t r = 0; r < kTileSide; ++r) {
      const bool exists = i + r < rows.i_count;
      const uint16_t* from = data + (rows.i_first + i + (exists ? r : 0)) * ld + rows.k_first;
      CopyTileRow(from, exists ? rows.k_count : 0, to + r * rows.stride);
      if (!exists) {
        __builtin_memset(to + r * rows.stride, 0, static_cast<size_t>(rows.stride) * 2);
      }
    }
  }
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
