// Packing: copies a block of an operand into panels that the tile kernels read in order. See
// PackBlock in kernel_set.h.
#pragma once

#include "worker/engine/backend/cpu/kernel_set.h"
#include "worker/engine/backend/cpu/kernels/vector.h"

namespace gp::engine::GP_ISA_NAMESPACE {

// One panel whose k axis is contiguous in memory: `count` rows of `k_units` 32-bit units become
// columns. An odd last bf16 element (`odd`) is paired with 0.
inline void PackPanelTransposing(const char* from, int64_t row_bytes, int64_t count,
                                 int64_t k_units, bool odd, int64_t panel, uint32_t* to) {
  const int64_t whole_units = k_units - (odd ? 1 : 0);
  const auto unit = [&](int64_t row, int64_t k) {
    uint32_t value = 0;
    __builtin_memcpy(&value, from + row * row_bytes + k * 4, odd && k == whole_units ? 2 : 4);
    return value;
  };
  for (int64_t first = 0; first < panel; first += kWidth) {
    int64_t k = 0;
    const int64_t rows = count - first;
    for (; rows >= kWidth && k + kWidth <= whole_units; k += kWidth) {
      VecU block[kWidth];
#pragma GCC unroll 16
      for (int r = 0; r < kWidth; ++r) {
        block[r] = *reinterpret_cast<const UnalignedVecU*>(from + (first + r) * row_bytes + k * 4);
      }
      Transpose(block);
#pragma GCC unroll 16
      for (int r = 0; r < kWidth; ++r) {
        *reinterpret_cast<UnalignedVecU*>(to + (k + r) * panel + first) = block[r];
      }
    }
    const int64_t width = panel - first < kWidth ? panel - first : kWidth;
    for (; k < k_units; ++k) {
      for (int64_t r = 0; r < width; ++r) {
        to[k * panel + first + r] = r < rows ? unit(first + r, k) : 0;
      }
    }
  }
}

// One panel whose i axis is contiguous, fp32: rows are copied.
inline void PackPanelCopying(const float* from, int64_t ld, int64_t count, int64_t k_count,
                             int64_t panel, float* to) {
  for (int64_t k = 0; k < k_count; ++k) {
    const float* row = from + k * ld;
    float* out = to + k * panel;
    ForVectors(0, count,
               [&](int64_t i, int64_t lanes) { Store(out + i, Load(row + i, lanes), lanes); });
    for (int64_t i = count; i < panel; ++i) out[i] = 0;
  }
}

// One panel whose i axis is contiguous, bf16: rows 2k and 2k + 1 are interleaved.
inline void PackPanelPairing(const uint16_t* from, int64_t ld, int64_t count, int64_t k_count,
                             int64_t panel, uint32_t* to) {
  for (int64_t k = 0; k < k_count; k += 2) {
    const uint16_t* even = from + k * ld;
    const uint16_t* odd = k + 1 < k_count ? even + ld : nullptr;
    uint32_t* out = to + k / 2 * panel;
    int64_t i = 0;
    for (; odd != nullptr && i + kWidth <= count; i += kWidth) {
      const VecU low =
          __builtin_convertvector(*reinterpret_cast<const UnalignedVecH*>(even + i), VecU);
      const VecU high =
          __builtin_convertvector(*reinterpret_cast<const UnalignedVecH*>(odd + i), VecU);
      *reinterpret_cast<UnalignedVecU*>(out + i) = low | (high << 16);
    }
    for (; i < panel; ++i) {
      const uint32_t low = i < count ? even[i] : 0;
      const uint32_t high = i < count && odd != nullptr ? odd[i] : 0;
      out[i] = low | (high << 16);
    }
  }
}

inline void Pack(const PackBlock& block) {
  const bool bf16 = block.from.data.type == DataType::kBfloat16;
  const int64_t element_bytes = bf16 ? 2 : 4;
  const int64_t k_units = bf16 ? (block.k_count + 1) / 2 : block.k_count;
  auto* to = static_cast<uint32_t*>(block.to);
  for (int64_t i = 0; i < block.i_count; i += block.panel, to += k_units * block.panel) {
    const int64_t left = block.i_count - i;
    const int64_t count = left < block.panel ? left : block.panel;
    const int64_t first = block.i_first + i;
    const int64_t offset = block.from.k_contiguous ? first * block.from.ld + block.k_first
                                                   : block.k_first * block.from.ld + first;
    const char* from = static_cast<const char*>(block.from.data.data) + offset * element_bytes;
    if (block.from.k_contiguous) {
      PackPanelTransposing(from, block.from.ld * element_bytes, count, k_units,
                           bf16 && block.k_count % 2 != 0, block.panel, to);
    } else if (bf16) {
      PackPanelPairing(reinterpret_cast<const uint16_t*>(from), block.from.ld, count, block.k_count,
                       block.panel, to);
    } else {
      PackPanelCopying(reinterpret_cast<const float*>(from), block.from.ld, count, block.k_count,
                       block.panel, reinterpret_cast<float*>(to));
    }
  }
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
