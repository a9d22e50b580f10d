// Products with a weight that was packed once, at load: its panels stream through the cache in
// memory order. bf16 panels stay bf16 in memory and are widened in registers. A lane sums its
// products in the order of the tile kernels (gemm_tile.h), so the bits are those of any other
// product. See PanelBlock in kernel_set.h.
#pragma once

#include "worker/engine/backend/cpu/kernels/gemm_tile.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/cpu/kernels/vector.h"

namespace gp::engine::GP_ISA_NAMESPACE {

// Read returns a vector of factors, one for each column of the panel. A 32-bit unit of a column
// takes part in kSteps products, each with one unit of A.
struct PanelFp32 {
  using Unit = float;
  using Factor = Vec;
  static constexpr int64_t kSteps = 1;
  static Factor Read(const uint32_t* from, uint64_t) {
    return Load(reinterpret_cast<const float*>(from));
  }
  static Vec Add(Vec sum, float a, Factor b) { return sum + Splat(a) * b; }
};

#if defined(GP_ISA_BF16)
struct PanelPairs {
  using Unit = uint32_t;
  using Factor = VecU;
  static constexpr int64_t kSteps = 1;
  static Factor Read(const uint32_t* from, uint64_t) { return Bf16Product::LoadB(from); }
  static Vec Add(Vec sum, uint32_t a, Factor b) { return Bf16Product::Add(sum, a, b); }
};
#else
// The odd element comes first, as in WidenPairs. The same shuffle instruction widens either
// element; its index is loaded from a table, because code with both steps unrolled needs more
// registers than there are.
struct PanelPairs {
  using Unit = float;
  using Factor = Vec;
  static constexpr int64_t kSteps = 2;
  static Factor Read(const uint32_t* from, uint64_t step) {
    const VecU pairs = *reinterpret_cast<const UnalignedVecU*>(from);
#if GP_ISA_WIDTH == 16
    const auto* order = reinterpret_cast<const __m512i*>(kOrders.bytes[step]);
    return reinterpret_cast<Vec>(_mm512_shuffle_epi8(reinterpret_cast<__m512i>(pairs), *order));
#elif GP_ISA_WIDTH == 8
    const auto* order = reinterpret_cast<const __m256i*>(kOrders.bytes[step]);
    return reinterpret_cast<Vec>(_mm256_shuffle_epi8(reinterpret_cast<__m256i>(pairs), *order));
#else
    return reinterpret_cast<Vec>(step == 0 ? pairs & 0xffff0000u : pairs << 16);
#endif
  }
  static Vec Add(Vec sum, float a, Factor b) { return PanelFp32::Add(sum, a, b); }

 private:
  // Shuffle index: the source of byte i of a factor within its 16 bytes, or -1 for a zero byte.
  struct Orders {
    constexpr Orders() {
      for (int i = 0; i < kWidth * 4; ++i) {
        const int unit = i % 16 / 4 * 4;
        bytes[0][i] = static_cast<int8_t>(i % 4 < 2 ? -1 : unit + i % 4);
        bytes[1][i] = static_cast<int8_t>(i % 4 < 2 ? -1 : unit + i % 4 - 2);
      }
    }
    alignas(64) int8_t bytes[2][kWidth * 4] = {};
  };
  static const Orders kOrders;
};
inline constexpr PanelPairs::Orders PanelPairs::kOrders{};
#endif

template <typename Product, int kRows>
void PanelRows(const PanelBlock& block) {
  constexpr int64_t kPanel = int64_t{kTileVectors} * kWidth;
  Vec sums[kRows][kTileVectors] = {};
  if (block.accumulate) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kTileVectors; ++v) {
        sums[r][v] = Load(block.sums + r * kPanel + v * kWidth);
      }
    }
  }
  const auto* a = static_cast<const typename Product::Unit*>(block.a);
  const auto* b = static_cast<const uint32_t*>(block.b);
  const auto* ahead = static_cast<const char*>(block.ahead);
  const int64_t stride = block.a_stride;
  const int64_t ahead_step = block.ahead_step;
  const auto steps = static_cast<uint64_t>(block.units * Product::kSteps);
// Unrolled, because the loop's own instructions would cost a tenth of the speed.
#pragma GCC unroll 4
  for (uint64_t i = 0; i < steps; ++i) {
    __builtin_prefetch(ahead, 0, 2);
    ahead += ahead_step;
    const uint32_t* from = b + i / Product::kSteps * kPanel;
    typename Product::Factor row[kTileVectors];
#pragma GCC unroll 3
    for (int v = 0; v < kTileVectors; ++v) {
      row[v] = Product::Read(from + v * kWidth, i % Product::kSteps);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const auto value = a[r * stride + static_cast<int64_t>(i)];
#pragma GCC unroll 3
      for (int v = 0; v < kTileVectors; ++v) sums[r][v] = Product::Add(sums[r][v], value, row[v]);
    }
  }
  float* to = block.sums;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kTileVectors; ++v) Store(to + r * kPanel + v * kWidth, sums[r][v]);
  }
}

template <typename Product, int kRows = kTileRows>
void PanelOf(const PanelBlock& block) {
  if (block.rows == kRows) return PanelRows<Product, kRows>(block);
  if constexpr (kRows > 1) PanelOf<Product, kRows - 1>(block);
}

// See KernelSet::widen_panel.
inline void WidenPanel(const uint32_t* from, int64_t units, const void* ahead, float* to) {
  constexpr int64_t kPanel = int64_t{kTileVectors} * kWidth;
  constexpr int64_t kLineBytes = 64;
  const auto* next = static_cast<const char*>(ahead);
  for (int64_t i = 0; i < units; ++i, from += kPanel, to += 2 * kPanel, next += kPanel * 4) {
#pragma GCC unroll 3
    for (int64_t byte = 0; byte < kPanel * 4; byte += kLineBytes) {
      __builtin_prefetch(next + byte, 0, 2);
    }
#pragma GCC unroll 3
    for (int v = 0; v < kTileVectors; ++v) {
      const VecU pairs = *reinterpret_cast<const UnalignedVecU*>(from + v * kWidth);
      Store(to + v * kWidth, reinterpret_cast<Vec>(pairs & 0xffff0000u));
      Store(to + kPanel + v * kWidth, reinterpret_cast<Vec>(pairs << 16));
    }
  }
}

inline void Panel(const PanelBlock& block) {
  if (block.pairs) {
    PanelOf<PanelPairs>(block);
  } else {
    PanelOf<PanelFp32>(block);
  }
}

// Keeps a bf16 pair of A, or widens it, the odd element first.
inline void PutPair(uint32_t pair, uint32_t* to) {
  if constexpr (kBf16Tiles) {
    to[0] = pair;
  } else {
    to[0] = pair & 0xffff0000u;
    to[1] = pair << 16;
  }
}

template <size_t... kLane>
inline void PutPairs(VecU pairs, uint32_t* to, std::index_sequence<kLane...>) {
  if constexpr (kBf16Tiles) {
    *reinterpret_cast<UnalignedVecU*>(to) = pairs;
  } else {
    const VecU odd = pairs & 0xffff0000u;
    const VecU even = pairs << 16;
    constexpr int kHalf = kWidth / 2;
    *reinterpret_cast<UnalignedVecU*>(to) = __builtin_shufflevector(
        odd, even, (kLane % 2 == 0 ? int{kLane} / 2 : kWidth + int{kLane} / 2)...);
    *reinterpret_cast<UnalignedVecU*>(to + kWidth) = __builtin_shufflevector(
        odd, even, (kLane % 2 == 0 ? kHalf + int{kLane} / 2 : kWidth + kHalf + int{kLane} / 2)...);
  }
}

inline void PairRows(const uint16_t* from, int64_t ld, int64_t rows, int64_t k, uint32_t* to) {
  constexpr int64_t kUnits = kBf16Tiles ? 1 : 2;
  const int64_t units = (k + 1) / 2 * kUnits;
  for (int64_t r = 0; r < rows; ++r, from += ld, to += units) {
    int64_t i = 0;
    for (; i + 2 * kWidth <= k; i += 2 * kWidth) {
      PutPairs(*reinterpret_cast<const UnalignedVecU*>(from + i), to + i / 2 * kUnits,
               std::make_index_sequence<kWidth>());
    }
    for (; i < k; i += 2) {
      const uint32_t high = i + 1 < k ? from[i + 1] : 0u;
      PutPair(from[i] | (high << 16), to + i / 2 * kUnits);
    }
  }
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
