// Code that the attention kernels share: products of small blocks, and copies of one head's rows
// from and to the packed buffers, widened to fp32. Included by attention.h and
// attention_backward.h, once per level.
#pragma once

#include "worker/engine/backend/cpu/kernels/dropout.h"
#include "worker/engine/backend/cpu/kernels/element.h"
#include "worker/engine/backend/cpu/kernels/gemm_tile.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/cpu/kernels/vector.h"

namespace gp::engine::GP_ISA_NAMESPACE {

inline constexpr int64_t kAttentionTile = 64;       // queries, and keys, of one block
inline constexpr int64_t kColumnStep = 2 * kWidth;  // columns of the tiles used here
// Row stride of a block of scores: 16 more than a power of two, or rows would share cache sets.
inline constexpr int64_t kScoreStride = kAttentionTile + 16;

inline int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
inline int64_t Smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// A matrix in scratch memory.
struct HeadBlock {
  float* data = nullptr;
  int64_t ld = 0;

  HeadBlock At(int64_t row, int64_t column) const { return {data + row * ld + column, ld}; }
};

// C (rows, columns) (+)= A B, rows rounded up to kTileRows and columns to kColumnStep. A's element
// (r, i) is a(r, i), or a(i, r) when kTransposed.
template <bool kTransposed>
inline void Multiply(int64_t rows, int64_t columns, int64_t k, HeadBlock a, HeadBlock b,
                     HeadBlock c, bool accumulate) {
  for (int64_t j = 0; j < columns; j += kColumnStep) {
    for (int64_t r = 0; r < rows; r += kTileRows) {
      Tile<Fp32Product, kTileRows, 2, kTransposed>(k, kTransposed ? a.data + r : a.data + r * a.ld,
                                                   a.ld, b.data + j, b.ld, c.data + r * c.ld + j,
                                                   c.ld, accumulate);
    }
  }
}

// The three products of a block on the diagonal, where query r sees keys 0..r. Rows are computed in
// groups of kTileRows; keys that no row of a group can see are skipped.
//
// scores = q k^T: columns after the group's last key stay as they were.
inline void MultiplyScores(int64_t rows, int64_t k, HeadBlock q, HeadBlock kt, HeadBlock scores) {
  for (int64_t r = 0; r < rows; r += kTileRows) {
    Multiply<false>(kTileRows, r + kTileRows, k, q.At(r, 0), kt, scores.At(r, 0), false);
  }
}
// out (+)= scores v, for scores that are 0 after the diagonal.
inline void MultiplyValues(int64_t rows, int64_t columns, HeadBlock scores, HeadBlock v,
                           HeadBlock out, bool accumulate) {
  for (int64_t r = 0; r < rows; r += kTileRows) {
    Multiply<false>(kTileRows, columns, r + kTileRows, scores.At(r, 0), v, out.At(r, 0),
                    accumulate);
  }
}
// out = scores^T v over `queries` queries.
inline void MultiplyKeys(int64_t queries, int64_t columns, HeadBlock scores, HeadBlock v,
                         HeadBlock out) {
  for (int64_t r = 0; r < queries; r += kTileRows) {
    Multiply<true>(kTileRows, columns, queries - r, scores.At(r, r), v.At(r, 0), out.At(r, 0),
                   false);
  }
}

inline float ScoreScale(const AttentionShape& shape) {
  return 1.0f / __builtin_sqrtf(static_cast<float>(shape.head_size));
}

// One head of one sequence: where its rows lie, and scratch memory for its blocks.
class Head {
 public:
  Head(const AttentionShape& shape, int64_t index, float* scratch)
      : shape_(shape),
        sequence_(index / shape.heads),
        head_(index % shape.heads),
        row_(index * shape.length),
        next_(scratch) {}

  int64_t length() const { return shape_.length; }
  int64_t head_size() const { return shape_.head_size; }
  // Rows and columns padded to whole blocks.
  int64_t rows() const { return RoundUp(shape_.length, kAttentionTile); }
  int64_t columns() const { return RoundUp(shape_.head_size, kColumnStep); }
  // Row of the (B, H, T) arrays where this head starts.
  int64_t row() const { return row_; }
  // Rows of the block that starts at `first`.
  int64_t CountFrom(int64_t first) const { return Smaller(kAttentionTile, length() - first); }

  HeadBlock Reserve(int64_t rows, int64_t ld) {
    float* taken = next_;
    next_ += rows * ld;
    return {taken, ld};
  }

  // Reads the block of 64 rows from `first` of part 0, 1 or 2 (q, k, v) of `packed`, whose rows
  // have `parts` parts. Multiplies by `factor`; writes zeros beyond the sequence and beyond the
  // head.
  void Read(Buffer packed, int64_t part, int64_t parts, float factor, int64_t first,
            HeadBlock to) const {
    WithElement(packed, [&](auto* from) {
      for (int64_t r = 0; r < kAttentionTile; ++r) {
        const bool exists = first + r < length();
        ReadRow(from + (exists ? Offset(first + r, part, parts) : 0), exists ? head_size() : 0,
                factor, to.data + r * to.ld);
      }
    });
  }

  // to (columns, 64) = the transpose of a block of 64 rows.
  void Transpose(HeadBlock from, HeadBlock to) const {
    for (int64_t t = 0; t < kAttentionTile; t += kWidth) {
      for (int64_t i = 0; i < columns(); i += kWidth) TransposeSquare(from.At(t, i), to.At(i, t));
    }
  }

  // Writes the block of rows from `first` of a result into a packed buffer, row r times factors[r].
  void Write(Buffer packed, int64_t part, int64_t parts, HeadBlock from, int64_t first,
             const float* factors) const {
    WithElement(packed, [&](auto* to) {
      for (int64_t r = 0; r < CountFrom(first); ++r) {
        auto* target = to + Offset(first + r, part, parts);
        const float* row = from.data + r * from.ld;
        ForVectors(0, head_size(), [&](int64_t i, int64_t lanes) {
          Store(target + i, Load(row + i) * factors[r], lanes);
        });
      }
    });
  }

  // The inner product of row t of a packed buffer with `row`.
  float Dot(Buffer packed, int64_t t, const float* row) const {
    Vec sum{};
    WithElement(packed, [&](auto* from) {
      from += Offset(t, 0, 1);
      ForVectors(0, head_size(), [&](int64_t i, int64_t lanes) {
        sum = sum + Load(from + i, lanes) * Load(row + i);
      });
    });
    return Sum(sum);
  }

  // Where row t of a part of a packed buffer begins.
  int64_t Offset(int64_t t, int64_t part, int64_t parts) const {
    return ((sequence_ * length() + t) * parts + part) * shape_.channels() + head_ * head_size();
  }

 private:
  template <typename T>
  void ReadRow(const T* from, int64_t count, float factor, float* to) const {
    int64_t i = 0;
    for (; i + kWidth <= count; i += kWidth) Store(to + i, Load(from + i) * factor);
    for (; i < columns(); i += kWidth) {
      Store(to + i, i < count ? Load(from + i, count - i) * factor : Vec{});
    }
  }

  static void TransposeSquare(HeadBlock from, HeadBlock to) {
    VecU square[kWidth];
#pragma GCC unroll 16
    for (int r = 0; r < kWidth; ++r) {
      square[r] = *reinterpret_cast<const UnalignedVecU*>(from.data + r * from.ld);
    }
    GP_ISA_NAMESPACE::Transpose(square);
#pragma GCC unroll 16
    for (int r = 0; r < kWidth; ++r) {
      *reinterpret_cast<UnalignedVecU*>(to.data + r * to.ld) = square[r];
    }
  }

  const AttentionShape shape_;
  const int64_t sequence_;
  const int64_t head_;
  const int64_t row_;
  float* next_;
};

}  // namespace gp::engine::GP_ISA_NAMESPACE
