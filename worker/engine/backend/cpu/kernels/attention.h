// Causal attention of one head, after FlashAttention (Dao et al. 2022, arXiv:2205.14135): 64
// queries at a time against all their keys, with a score tile of 64 rows and never a T x T matrix;
// the backward pass recomputes the scores. Everything is fp32 inside; bf16 inputs are widened
// first. Row i's result depends on rows 0..i alone, whatever T is.
#pragma once

#include "worker/engine/backend/cpu/kernel_set.h"
#include "worker/engine/backend/cpu/kernels/dropout.h"
#include "worker/engine/backend/cpu/kernels/element.h"
#include "worker/engine/backend/cpu/kernels/gemm_tile.h"
#include "worker/engine/backend/cpu/kernels/vector.h"

namespace gp::engine::GP_ISA_NAMESPACE {

inline constexpr int64_t kQueryTile = 64;
inline constexpr int64_t kColumnStep = 2 * kWidth;  // of the tiles used here

inline int64_t PadTo64(int64_t value) { return (value + 63) / 64 * 64; }

// C (rows, columns) (+)= A B with rows a multiple of kTileRows and columns of kColumnStep. A's
// element (r, i) is a[r * lda + i], or a[i * lda + r] when kTransposed.
template <bool kTransposed>
inline void Multiply(int64_t rows, int64_t columns, int64_t k, const float* a, int64_t lda,
                     const float* b, int64_t ldb, float* c, int64_t ldc, bool accumulate) {
  for (int64_t j = 0; j < columns; j += kColumnStep) {
    for (int64_t r = 0; r < rows; r += kTileRows) {
      Tile<Fp32Product, kTileRows, 2, kTransposed>(k, kTransposed ? a + r : a + r * lda, lda, b + j,
                                                   ldb, c + r * ldc + j, ldc, accumulate);
    }
  }
}

// One head's operands, widened to fp32 and padded with zeros: rows to 64, columns to kColumnStep.
class Head {
 public:
  Head(const AttentionShape& shape, int64_t index, float* scratch)
      : shape_(shape),
        sequence_(index / shape.heads),
        head_(index % shape.heads),
        row_(index * shape.length),
        rows_(PadTo64(shape.length)),
        columns_((shape.head_size + kColumnStep - 1) / kColumnStep * kColumnStep),
        // 16 more than a power of two: rows of a tile must not share cache sets.
        score_ld_(rows_ + 16),
        next_(scratch) {}

  int64_t length() const { return shape_.length; }
  int64_t head_size() const { return shape_.head_size; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t score_ld() const { return score_ld_; }
  // Row of the (B, H, T) arrays where this head starts.
  int64_t row() const { return row_; }
  // Keys that the queries [first, first + 64) see, padded.
  int64_t KeyLimit(int64_t first) const { return PadTo64(Minimum(first + kQueryTile, length())); }
  int64_t QueryCount(int64_t first) const { return Minimum(kQueryTile, length() - first); }

  float* Take(int64_t count) {
    float* taken = next_;
    next_ += count;
    return taken;
  }

  // Part 0, 1 or 2 (q, k, v) of packed rows with `parts` parts, times `factor`.
  float* Read(Buffer packed, int64_t part, int64_t parts, float factor) {
    float* to = Take(rows_ * columns_);
    WithElement(packed, [&](auto* from) {
      for (int64_t t = 0; t < rows_; ++t) {
        float* row = to + t * columns_;
        ForVectors(0, columns_, [&](int64_t i, int64_t lanes) { Store(row + i, Vec{}, lanes); });
        if (t >= length()) continue;
        const auto* source = from + Offset(t, part, parts);
        ForVectors(0, head_size(), [&](int64_t i, int64_t lanes) {
          Store(row + i, Load(source + i, lanes) * factor, lanes);
        });
      }
    });
    return to;
  }

  // (columns, score_ld): the transpose of what Read gave.
  float* TransposeOf(const float* from) {
    float* to = Take(columns_ * score_ld_);
    for (int64_t t = 0; t < rows_; t += kWidth) {
      for (int64_t i = 0; i < columns_; i += kWidth) {
        VecU block[kWidth];
#pragma GCC unroll 16
        for (int r = 0; r < kWidth; ++r) {
          block[r] = *reinterpret_cast<const UnalignedVecU*>(from + (t + r) * columns_ + i);
        }
        Transpose(block);
#pragma GCC unroll 16
        for (int r = 0; r < kWidth; ++r) {
          *reinterpret_cast<UnalignedVecU*>(to + (i + r) * score_ld_ + t) = block[r];
        }
      }
    }
    return to;
  }

  // Rows [first, last) of a (rows, columns) result, times `factor`, into a packed buffer.
  void Write(Buffer packed, int64_t part, int64_t parts, const float* from, int64_t first,
             int64_t last, float factor) const {
    WithElement(packed, [&](auto* to) {
      for (int64_t t = first; t < last; ++t) {
        auto* target = to + Offset(t, part, parts);
        const float* row = from + (t - first) * columns_;
        ForVectors(0, head_size(), [&](int64_t i, int64_t lanes) {
          Store(target + i, Load(row + i, lanes) * factor, lanes);
        });
      }
    });
  }

 private:
  static int64_t Minimum(int64_t a, int64_t b) { return a < b ? a : b; }
  int64_t Offset(int64_t t, int64_t part, int64_t parts) const {
    return ((sequence_ * length() + t) * parts + part) * shape_.channels() + head_ * head_size();
  }

  const AttentionShape shape_;
  const int64_t sequence_;
  const int64_t head_;
  const int64_t row_;
  const int64_t rows_;
  const int64_t columns_;
  const int64_t score_ld_;
  float* next_;
};

inline float ScoreScale(const AttentionShape& shape) {
  return 1.0f / __builtin_sqrtf(static_cast<float>(shape.head_size));
}

// Turns the scores of query `i` into probabilities over keys [0, i]; zero up to `limit`. Returns
// the log of the denominator.
inline float SoftmaxRow(float* scores, int64_t i, int64_t limit) {
  Vec largest = Splat(-3.4e38f);
  ForVectors(0, i + 1, [&](int64_t j, int64_t lanes) {
    largest = Max(largest, KeepLanes(Load(scores + j, lanes), lanes, -3.4e38f));
  });
  const float maximum = Max(largest);
  Vec sums{};
  ForVectors(0, i + 1, [&](int64_t j, int64_t lanes) {
    const Vec value = KeepLanes(Exp(Load(scores + j, lanes) - maximum), lanes, 0);
    sums = sums + value;
    Store(scores + j, value, lanes);
  });
  const float sum = Sum(sums);
  const float inverse = 1.0f / sum;
  ForVectors(0, i + 1, [&](int64_t j, int64_t lanes) {
    Store(scores + j, Load(scores + j, lanes) * inverse, lanes);
  });
  for (int64_t j = i + 1; j < limit; ++j) scores[j] = 0;
  return maximum + LogOf(sum);
}

inline void ZeroFloats(float* data, int64_t count) {
  ForVectors(0, count, [&](int64_t i, int64_t lanes) { Store(data + i, Vec{}, lanes); });
}

inline void AttentionForwardHead(const AttentionShape& shape, Buffer out, float* lse, Buffer qkv,
                                 const Dropout& dropout, int64_t index, float* scratch) {
  Head head(shape, index, scratch);
  const float* q = head.Read(qkv, 0, 3, ScoreScale(shape));
  const float* k = head.Read(qkv, 1, 3, 1);
  const float* v = head.Read(qkv, 2, 3, 1);
  const float* kt = head.TransposeOf(k);
  float* scores = head.Take(kQueryTile * head.score_ld());
  float* result = head.Take(kQueryTile * head.columns());
  const int64_t ld = head.score_ld();
  const int64_t columns = head.columns();
  const DropoutSite site(dropout);
  for (int64_t first = 0; first < head.length(); first += kQueryTile) {
    const int64_t limit = head.KeyLimit(first);
    const int64_t queries = head.QueryCount(first);
    Multiply<false>(kQueryTile, limit, head.head_size(), q + first * columns, columns, kt, ld,
                    scores, ld, false);
    for (int64_t r = 0; r < queries; ++r) {
      lse[head.row() + first + r] = SoftmaxRow(scores + r * ld, first + r, limit);
      if (!site.active()) continue;
      const DropoutRow mask = site.Row(head.row() + first + r);
      ForVectors(0, limit, [&](int64_t j, int64_t lanes) {
        float* at = scores + r * ld + j;
        Store(at, Load(at, lanes) * mask.Mask(j), lanes);
      });
    }
    Multiply<false>(kQueryTile, columns, limit, scores, ld, v, columns, result, columns, false);
    head.Write(out, 0, 1, result, first, first + queries, 1);
  }
}

// Turns scores into dropped-out probabilities and dprobs (the gradient of those) into the gradient
// of the scores.
inline void ScoreGradientRow(float* scores, float* dprobs, int64_t i, int64_t limit, float lse,
                             float dot, const DropoutSite& site, const DropoutRow& mask) {
  ForVectors(0, i + 1, [&](int64_t j, int64_t lanes) {
    const Vec p = KeepLanes(Exp(Load(scores + j, lanes) - lse), lanes, 0);
    Vec kept = p;
    Vec dp = Load(dprobs + j, lanes);
    if (site.active()) {
      const Vec factor = mask.Mask(j);
      kept = kept * factor;
      dp = dp * factor;
    }
    Store(scores + j, kept, lanes);
    Store(dprobs + j, p * (dp - dot), lanes);
  });
  ZeroFloats(scores + i + 1, limit - i - 1);
  ZeroFloats(dprobs + i + 1, limit - i - 1);
}

inline float DotRow(const float* a, const float* b, int64_t count) {
  Vec sum{};
  ForVectors(0, count, [&](int64_t i, int64_t lanes) {
    sum = sum + Load(a + i, lanes) * Load(b + i, lanes);
  });
  return Sum(sum);
}

inline void AttentionBackwardHead(const AttentionShape& shape, Buffer dqkv, Buffer dout_buffer,
                                  Buffer out_buffer, const float* lse, Buffer qkv,
                                  const Dropout& dropout, int64_t index, float* scratch) {
  Head head(shape, index, scratch);
  const int64_t ld = head.score_ld();
  const int64_t columns = head.columns();
  const int64_t values = head.rows() * columns;
  const float scale = ScoreScale(shape);
  const float* q = head.Read(qkv, 0, 3, scale);
  const float* k = head.Read(qkv, 1, 3, 1);
  const float* v = head.Read(qkv, 2, 3, 1);
  const float* dout = head.Read(dout_buffer, 0, 1, 1);
  const float* out = head.Read(out_buffer, 0, 1, 1);
  const float* kt = head.TransposeOf(k);
  const float* vt = head.TransposeOf(v);
  float* dk = head.Take(values);
  float* dv = head.Take(values);
  float* dq = head.Take(kQueryTile * columns);
  float* scores = head.Take(kQueryTile * ld);
  float* dprobs = head.Take(kQueryTile * ld);
  ZeroFloats(dk, values);
  ZeroFloats(dv, values);
  const DropoutSite site(dropout);
  for (int64_t first = 0; first < head.length(); first += kQueryTile) {
    const int64_t limit = head.KeyLimit(first);
    const int64_t queries = head.QueryCount(first);
    const float* q_tile = q + first * columns;
    const float* dout_tile = dout + first * columns;
    Multiply<false>(kQueryTile, limit, head.head_size(), q_tile, columns, kt, ld, scores, ld,
                    false);
    Multiply<false>(kQueryTile, limit, head.head_size(), dout_tile, columns, vt, ld, dprobs, ld,
                    false);
    for (int64_t r = 0; r < queries; ++r) {
      const int64_t i = first + r;
      const float dot = DotRow(dout_tile + r * columns, out + i * columns, head.head_size());
      ScoreGradientRow(scores + r * ld, dprobs + r * ld, i, limit, lse[head.row() + i], dot, site,
                       site.Row(head.row() + i));
    }
    ZeroFloats(scores + queries * ld, (kQueryTile - queries) * ld);
    ZeroFloats(dprobs + queries * ld, (kQueryTile - queries) * ld);
    Multiply<true>(limit, columns, kQueryTile, scores, ld, dout_tile, columns, dv, columns, true);
    Multiply<true>(limit, columns, kQueryTile, dprobs, ld, q_tile, columns, dk, columns, true);
    Multiply<false>(kQueryTile, columns, limit, dprobs, ld, k, columns, dq, columns, false);
    head.Write(dqkv, 0, 3, dq, first, first + queries, scale);
  }
  head.Write(dqkv, 1, 3, dk, 0, head.length(), 1);
  head.Write(dqkv, 2, 3, dv, 0, head.length(), 1);
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
