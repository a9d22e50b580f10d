// Products of a few rows, as in a decoder: each weight is used only once or a few times, so reading
// B determines the time. B is neither packed nor copied: kWidth of its rows are read in place,
// transposed in registers, and multiplied at once. A lane sums its products in the order of the
// tile kernels (gemm_tile.h), so the bits are those of a product of many rows. See SkinnyBlock in
// kernel_set.h.
#pragma once

#include "worker/engine/backend/cpu/kernels/gemm_tile.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/cpu/kernels/vector.h"

namespace gp::engine::GP_ISA_NAMESPACE {

// How 32-bit units of B are multiplied with the packed units of A; kUnits units of A belong to one
// unit of B.
struct SkinnyFp32 {
  static constexpr int64_t kUnits = 1;
  template <int kRows>
  static void Add(VecU b, const uint32_t* a, Vec (&sums)[kRows]) {
    AddFloats(reinterpret_cast<Vec>(b), reinterpret_cast<const float*>(a), sums);
  }
  template <int kRows>
  static void AddFloats(Vec b, const float* a, Vec (&sums)[kRows]) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sums[r] = sums[r] + Splat(a[r]) * b;
  }
};

#if defined(GP_ISA_BF16)
struct SkinnyBf16 {
  static constexpr int64_t kUnits = 1;
  template <int kRows>
  static void Add(VecU b, const uint32_t* a, Vec (&sums)[kRows]) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sums[r] = Bf16Product::Add(sums[r], a[r], b);
  }
};
#else
// Widens bf16 pairs, the odd element first, in the order of WidenPairs.
struct SkinnyBf16 {
  static constexpr int64_t kUnits = 2;
  template <int kRows>
  static void Add(VecU b, const uint32_t* a, Vec (&sums)[kRows]) {
    const auto* values = reinterpret_cast<const float*>(a);
    SkinnyFp32::AddFloats(reinterpret_cast<Vec>(b & 0xffff0000u), values, sums);
    SkinnyFp32::AddFloats(reinterpret_cast<Vec>(b << 16), values + kTileRows, sums);
  }
};
#endif

// kWidth rows of B, read as columns of units.
class SkinnyColumns {
 public:
  explicit SkinnyColumns(const SkinnyBlock& block)
      : row_bytes_(block.b.ld * ElementBytes(block)),
        k_bytes_(block.k * ElementBytes(block)),
        count_(block.count),
        from_(static_cast<const char*>(block.b.data.data) + block.first * row_bytes_) {}

  // Calls body(unit, column) with k ascending.
  template <typename Body>
  inline __attribute__((always_inline)) void ForEach(Body body) const {
    int64_t unit = 0;
    if (count_ == kWidth) {
      for (; (unit + kWidth) * 4 <= k_bytes_; unit += kWidth) {
        VecU rows[kWidth];
#pragma GCC unroll 16
        for (int r = 0; r < kWidth; ++r) {
          const char* at = from_ + r * row_bytes_ + unit * 4;
          // Prefetch the same position in the next kWidth rows.
          __builtin_prefetch(at + kWidth * row_bytes_, 0, 2);
          rows[r] = *reinterpret_cast<const UnalignedVecU*>(at);
        }
        Transpose(rows);
#pragma GCC unroll 16
        for (int r = 0; r < kWidth; ++r) body(unit + r, rows[r]);
      }
    }
    for (; unit * 4 < k_bytes_; ++unit) body(unit, Gather(unit));
  }

 private:
  static int64_t ElementBytes(const SkinnyBlock& block) {
    return block.b.data.type == DataType::kBfloat16 ? 2 : 4;
  }

  // An odd last bf16 element is paired with 0; rows beyond the last are 0.
  VecU Gather(int64_t unit) const {
    VecU column{};
    for (int64_t r = 0; r < count_; ++r) {
      uint32_t value = 0;
      const char* at = from_ + r * row_bytes_ + unit * 4;
      if (unit * 4 + 4 <= k_bytes_) {
        __builtin_memcpy(&value, at, 4);
      } else {
        __builtin_memcpy(&value, at, 2);
      }
      column[r] = value;
    }
    return column;
  }

  const int64_t row_bytes_;
  const int64_t k_bytes_;
  const int64_t count_;
  const char* const from_;
};

template <typename Product, int kRows>
void SkinnyRows(const SkinnyBlock& block) {
  const auto* a = static_cast<const uint32_t*>(block.a);
  Vec sums[kRows] = {};
  SkinnyColumns(block).ForEach([&](int64_t unit, VecU column) {
    Product::Add(column, a + unit * Product::kUnits * kTileRows, sums);
  });
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) Store(block.sums + r * kWidth, sums[r]);
}

template <typename Product, int kRows = kTileRows>
void SkinnyOf(const SkinnyBlock& block) {
  if (block.rows == kRows) return SkinnyRows<Product, kRows>(block);
  if constexpr (kRows > 1) SkinnyOf<Product, kRows - 1>(block);
}

inline void Skinny(const SkinnyBlock& block) {
  if (block.b.data.type == DataType::kBfloat16) {
    SkinnyOf<SkinnyBf16>(block);
  } else {
    SkinnyOf<SkinnyFp32>(block);
  }
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
