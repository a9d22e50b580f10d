// Packing: copies a block of an operand into panels that the tile kernels read in order. See
// PackBlock in kernel_set.h. All units are 32 bits: an fp32 value, or a pair of bf16 elements 2k
// (low half) and 2k + 1 (high half).
#pragma once

#include "worker/engine/backend/cpu/kernels/gemm_tile.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/cpu/kernels/vector.h"

namespace gp::engine::GP_ISA_NAMESPACE {

// Formats of a panel: Put stores a vector of units. This one stores them unchanged.
struct KeepUnits {
  static constexpr int kRows = 1;  // rows of the panel for one unit of k
  template <typename V>
  static void Put(V units, uint32_t* to, int64_t) {
    __builtin_memcpy(to, &units, sizeof(units));
  }
};

// A bf16 pair becomes two fp32 rows, the odd element first: the order in which vdpbf16ps sums.
struct WidenPairs {
  static constexpr int kRows = 2;
  template <typename V>
  static void Put(V pairs, uint32_t* to, int64_t panel) {
    const V odd = pairs & 0xffff0000u;
    const V even = pairs << 16;
    __builtin_memcpy(to, &odd, sizeof(odd));
    __builtin_memcpy(to + panel, &even, sizeof(even));
  }
};

// Packs a panel from an operand whose k axis is contiguous in memory: `count` rows become columns.
class TransposingPacker {
 public:
  TransposingPacker(const char* from, int64_t row_bytes, int64_t count, int64_t k_bytes)
      : from_(from), row_bytes_(row_bytes), count_(count), k_bytes_(k_bytes) {}

  template <typename Format>
  void Pack(int64_t panel, uint32_t* to) const {
    const int64_t units = (k_bytes_ + 3) / 4;
    for (int64_t first = 0; first < panel; first += kWidth) {
      int64_t k = 0;
      // A vector wider than the panel spills into the panel's next row, which is written after it.
      for (; (k + kWidth) * 4 <= k_bytes_; k += kWidth) {
        VecU block[kWidth];
        LoadBlock(first, k, block);
        Transpose(block);
#pragma GCC unroll 16
        for (int r = 0; r < kWidth; ++r) {
          Format::Put(block[r], to + (k + r) * Format::kRows * panel + first, panel);
        }
      }
      const int64_t width = panel - first < kWidth ? panel - first : kWidth;
      for (; k < units; ++k) {
        for (int64_t r = first; r < first + width; ++r) {
          Format::Put(r < count_ ? Unit(r, k) : 0u, to + k * Format::kRows * panel + r, panel);
        }
      }
    }
  }

 private:
  void LoadBlock(int64_t first, int64_t k, VecU (&block)[kWidth]) const {
    const char* row = from_ + first * row_bytes_ + k * 4;
    if (first + kWidth <= count_) {
#pragma GCC unroll 16
      for (int r = 0; r < kWidth; ++r) {
        block[r] = *reinterpret_cast<const UnalignedVecU*>(row + r * row_bytes_);
      }
      return;
    }
#pragma GCC unroll 16
    for (int r = 0; r < kWidth; ++r) {
      block[r] = first + r < count_ ? *reinterpret_cast<const UnalignedVecU*>(row + r * row_bytes_)
                                    : UnalignedVecU{};
    }
  }

  // An odd last bf16 element is paired with 0.
  uint32_t Unit(int64_t row, int64_t k) const {
    const char* at = from_ + row * row_bytes_ + k * 4;
    uint32_t unit = 0;
    if (k * 4 + 4 <= k_bytes_) {
      __builtin_memcpy(&unit, at, 4);
    } else {
      __builtin_memcpy(&unit, at, 2);
    }
    return unit;
  }

  const char* from_;
  const int64_t row_bytes_;
  const int64_t count_;
  const int64_t k_bytes_;
};

// Copies rows of kVectors whole vectors. The rest of a row of the panel is not written, because it
// is never read.
template <int kVectors>
inline void CopyRows(const float* from, int64_t ld, int64_t k_count, int64_t panel, float* to) {
  for (int64_t k = 0; k < k_count; ++k, from += ld, to += panel) {
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) Store(to + v * kWidth, Load(from + v * kWidth));
  }
}

// Packs a panel of fp32 whose i axis is contiguous by copying rows.
inline void PackCopying(const float* from, int64_t ld, int64_t count, int64_t k_count,
                        int64_t panel, float* to) {
  if (count == kWidth) return CopyRows<1>(from, ld, k_count, panel, to);
  if (count == 2 * kWidth) return CopyRows<2>(from, ld, k_count, panel, to);
  if (count == 3 * kWidth) return CopyRows<3>(from, ld, k_count, panel, to);
  for (int64_t k = 0; k < k_count; ++k, from += ld, to += panel) {
    if (count == kTileRows) {
      __builtin_memcpy(to, from, kTileRows * sizeof(float));
    } else {
      ForVectors(0, count,
                 [&](int64_t i, int64_t lanes) { Store(to + i, Load(from + i, lanes), lanes); });
    }
    for (int64_t i = count; i < panel; ++i) to[i] = 0;
  }
}

// Vectors of as many elements as a tile has rows: half of this level's vector, or a whole one.
typedef uint32_t TileU __attribute__((vector_size(kTileRows * 4)));
typedef uint16_t TileH __attribute__((vector_size(kTileRows * 2)));

// Elements of row 2k and of row 2k + 1, paired.
template <typename Units, typename Halves>
inline Units LoadPairs(const uint16_t* even, const uint16_t* odd) {
  Halves low;
  Halves high;
  __builtin_memcpy(&low, even, sizeof(low));
  __builtin_memcpy(&high, odd, sizeof(high));
  return __builtin_convertvector(low, Units) | (__builtin_convertvector(high, Units) << 16);
}

// Packs a panel of bf16 whose i axis is contiguous: rows 2k and 2k + 1 are interleaved.
template <typename Format>
inline void PackPairing(const uint16_t* from, int64_t ld, int64_t count, int64_t k_count,
                        int64_t panel, uint32_t* to) {
  for (int64_t k = 0; k < k_count; k += 2, from += 2 * ld, to += Format::kRows * panel) {
    const uint16_t* odd = k + 1 < k_count ? from + ld : nullptr;
    int64_t i = 0;
    for (; odd != nullptr && i + kWidth <= count; i += kWidth) {
      Format::Put(LoadPairs<VecU, VecH>(from + i, odd + i), to + i, panel);
    }
    for (; odd != nullptr && i + kTileRows <= count; i += kTileRows) {
      Format::Put(LoadPairs<TileU, TileH>(from + i, odd + i), to + i, panel);
    }
    for (; i < panel; ++i) {
      const uint32_t low = i < count ? from[i] : 0u;
      const uint32_t high = i < count && odd != nullptr ? odd[i] : 0u;
      Format::Put(low | (high << 16), to + i, panel);
    }
  }
}

template <typename Format>
inline void PackPanel(const PackBlock& block, int64_t first, int64_t count, uint32_t* to) {
  const GemmOperand& operand = block.from;
  const bool bf16 = operand.data.type == DataType::kBfloat16;
  const int64_t element_bytes = bf16 ? 2 : 4;
  const int64_t offset = operand.k_contiguous ? first * operand.ld + block.k_first
                                              : block.k_first * operand.ld + first;
  const char* from = static_cast<const char*>(operand.data.data) + offset * element_bytes;
  if (operand.k_contiguous) {
    TransposingPacker(from, operand.ld * element_bytes, count, block.k_count * element_bytes)
        .Pack<Format>(block.panel, to);
  } else if (bf16) {
    PackPairing<Format>(reinterpret_cast<const uint16_t*>(from), operand.ld, count, block.k_count,
                        block.panel, to);
  } else {
    PackCopying(reinterpret_cast<const float*>(from), operand.ld, count, block.k_count, block.panel,
                reinterpret_cast<float*>(to));
  }
}

// Keeps pairs if the tile kernels take them or pairs are requested; otherwise widens them.
inline void Pack(const PackBlock& block) {
  const bool bf16 = block.from.data.type == DataType::kBfloat16;
  const bool widens = bf16 && !kBf16Tiles && !block.keep_pairs;
  const int64_t pairs = (block.k_count + 1) / 2;
  const int64_t units = !bf16 ? block.k_count : widens ? 2 * pairs : pairs;
  auto* to = static_cast<uint32_t*>(block.to);
  for (int64_t i = 0; i < block.i_count; i += block.panel, to += units * block.panel) {
    const int64_t left = block.i_count - i;
    const int64_t count = left < block.panel ? left : block.panel;
    if (widens) {
      PackPanel<WidenPairs>(block, block.i_first + i, count, to);
    } else {
      PackPanel<KeepUnits>(block, block.i_first + i, count, to);
    }
  }
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
