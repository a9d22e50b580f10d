// The innermost loop of every matrix product: a tile of C stays in registers while k runs. A lane
// of the tile sums its products in ascending k, whatever the tile's size. See TileKernel in
// kernel_set.h.
#pragma once

#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/cpu/kernels/vector.h"

namespace gp::engine::GP_ISA_NAMESPACE {

#if GP_ISA_WIDTH == 16
inline constexpr int kTileRows = 8;  // 8 x 3 sums + 3 of B + 1 of A: 28 of 32 registers
inline constexpr int kTileVectors = 3;
#elif GP_ISA_WIDTH == 8
inline constexpr int kTileRows = 4;  // 4 x 3 + 3 + 1: all 16 registers
inline constexpr int kTileVectors = 3;
#else
inline constexpr int kTileRows = 4;
inline constexpr int kTileVectors = 2;
#endif

// sum += a * b in fp32.
struct Fp32Product {
  using Unit = float;
  using B = Vec;
  static B LoadB(const float* from) { return Load(from); }
  static Vec Add(Vec sum, float a, B b) { return sum + Splat(a) * b; }
};

#if defined(GP_ISA_BF16)
inline constexpr bool kBf16Tiles = true;

// sum += a1 * b1, then sum += a0 * b0, for a bf16 pair: each sum rounded to fp32, products exact.
struct Bf16Product {
  using Unit = uint32_t;
  using B = VecU;
  static B LoadB(const uint32_t* from) { return *reinterpret_cast<const UnalignedVecU*>(from); }
  static Vec Add(Vec sum, uint32_t a, B b) {
    return _mm512_dpbf16_ps(sum, (__m512bh)(VecU{} + a), (__m512bh)b);
  }
};
#else
// bf16 is widened when it is packed, and multiplied by the fp32 tiles.
inline constexpr bool kBf16Tiles = false;
#endif

// Distance, in rows of k, at which a transposed A is prefetched. Its rows may lie far apart in
// memory, where the processor's own prefetchers do not help.
inline constexpr int64_t kRowsAhead = 16;

template <typename Product, int kRows, int kVectors, bool kTransposed>
void Tile(int64_t k, const void* a_data, int64_t a_stride, const void* b_data, int64_t ldb,
          float* c, int64_t ldc, bool accumulate) {
  const auto* a = static_cast<const typename Product::Unit*>(a_data);
  const auto* b = static_cast<const typename Product::Unit*>(b_data);
  Vec sums[kRows][kVectors] = {};
  if (accumulate) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Load(c + r * ldc + v * kWidth);
    }
  }
  for (int64_t i = 0; i < k; ++i) {
    typename Product::B row[kVectors];
    if constexpr (kTransposed) __builtin_prefetch(a + (i + kRowsAhead) * a_stride);
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) row[v] = Product::LoadB(b + i * ldb + v * kWidth);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const auto value = kTransposed ? a[i * a_stride + r] : a[r * a_stride + i];
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Product::Add(sums[r][v], value, row[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) Store(c + r * ldc + v * kWidth, sums[r][v]);
  }
}

template <typename Product, bool kTransposed, int kRows>
constexpr void FillRow(TileKernels& kernels) {
  kernels.rows[kRows - 1][0] = &Tile<Product, kRows, 1, kTransposed>;
  kernels.rows[kRows - 1][1] = &Tile<Product, kRows, 2, kTransposed>;
  if constexpr (kTileVectors >= 3) {
    kernels.rows[kRows - 1][2] = &Tile<Product, kRows, 3, kTransposed>;
  }
  if constexpr (kRows > 1) FillRow<Product, kTransposed, kRows - 1>(kernels);
}

template <typename Product, bool kTransposed>
constexpr TileKernels MakeTileKernels() {
  TileKernels kernels{};
  FillRow<Product, kTransposed, kTileRows>(kernels);
  return kernels;
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
