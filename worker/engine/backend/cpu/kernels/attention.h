// Causal attention of one head, after FlashAttention (Dao et al. 2022, arXiv:2205.14135): 64
// queries at a time against all their keys, with a strip of 64 rows of scores and never a T x T
// matrix. Everything is fp32 inside; bf16 inputs are widened first. Row i's result depends only on
// rows 0..i, whatever T is.
#pragma once

#include "worker/engine/backend/cpu/kernels/attention_head.h"

namespace gp::engine::GP_ISA_NAMESPACE {

inline constexpr int64_t kKeyStrip = 128;  // keys per product with v: their v stays in cache

// For each query of a block: the largest score, the sum of exp(score - maximum), and 1 / sum. The
// output is the sum of exp(score - maximum) * v, times 1 / sum.
struct SoftmaxRows {
  float maxima[kAttentionTile];
  float sums[kAttentionTile];
  float inverses[kAttentionTile];
};

// Turns the scores of one query over `keys` keys into exp(score - maximum), and sets the rest of
// the last vector to 0.
inline void ExpRow(float* scores, int64_t keys, float* maximum, float* sum) {
  Vec largest = Splat(-3.4e38f);
  ForVectors(0, keys, [&](int64_t j, int64_t lanes) {
    largest = Max(largest, KeepLanes(Load(scores + j), lanes, -3.4e38f));
  });
  *maximum = Max(largest);
  Vec sums{};
  ForVectors(0, keys, [&](int64_t j, int64_t lanes) {
    const Vec value = KeepLanes(Exp(Load(scores + j) - *maximum), lanes, 0);
    sums = sums + value;
    Store(scores + j, value);
  });
  *sum = Sum(sums);
}

inline void DropRow(const DropoutRow& mask, int64_t keys, float* scores) {
  ForVectors(0, keys,
             [&](int64_t j, int64_t) { Store(scores + j, Load(scores + j) * mask.Mask(j)); });
}

class AttentionForward {
 public:
  AttentionForward(const AttentionShape& shape, Buffer qkv, const Dropout& dropout, int64_t index,
                   float* scratch)
      : head_(shape, index, scratch),
        qkv_(qkv),
        scale_(ScoreScale(shape)),
        site_(dropout),
        q_(head_.Reserve(kAttentionTile, head_.columns())),
        kt_(head_.Reserve(head_.columns(), head_.rows() + 16)),
        v_(head_.Reserve(head_.rows(), head_.columns())),
        scores_(head_.Reserve(kAttentionTile, head_.rows() + 16)),
        result_(head_.Reserve(kAttentionTile, head_.columns())) {}

  void Run(Buffer out, float* lse) {
    for (int64_t first = 0; first < head_.length(); first += kAttentionTile) {
      ReadKeys(first);
      head_.Read(qkv_, 0, 3, scale_, first, q_);
      ComputeScores(first);
      Softmax(first, lse + head_.row() + first);
      ComputeResult(first);
      head_.Write(out, 0, 1, result_, first, rows_.inverses);
    }
  }

 private:
  // Reads the keys and values of the block's own positions. Earlier queries do not see them
  // (causal).
  void ReadKeys(int64_t first) {
    head_.Read(qkv_, 1, 3, 1, first, result_);
    head_.Transpose(result_, kt_.At(0, first));
    head_.Read(qkv_, 2, 3, 1, first, v_.At(first, 0));
  }

  void ComputeScores(int64_t first) {
    const int64_t queries = head_.CountFrom(first);
    Multiply<false>(queries, first, head_.head_size(), q_, kt_, scores_, false);
    MultiplyScores(queries, head_.head_size(), q_, kt_.At(0, first), scores_.At(0, first));
  }

  void Softmax(int64_t first, float* lse) {
    const int64_t queries = head_.CountFrom(first);
    for (int64_t r = 0; r < queries; ++r) {
      float* scores = scores_.data + r * scores_.ld;
      ExpRow(scores, first + r + 1, rows_.maxima + r, rows_.sums + r);
      rows_.inverses[r] = 1.0f / rows_.sums[r];
      if (site_.active()) DropRow(site_.Row(head_.row() + first + r), first + r + 1, scores);
    }
    ForVectors(0, queries, [&](int64_t r, int64_t lanes) {
      const Vec sums = KeepLanes(Load(rows_.sums + r), lanes, 1);
      Store(lse + r, Load(rows_.maxima + r) + Log(sums), lanes);
    });
  }

  void ComputeResult(int64_t first) {
    const int64_t queries = head_.CountFrom(first);
    for (int64_t key = 0; key < first; key += kKeyStrip) {
      Multiply<false>(queries, head_.columns(), Smaller(kKeyStrip, first - key), scores_.At(0, key),
                      v_.At(key, 0), result_, key > 0);
    }
    MultiplyValues(queries, head_.columns(), scores_.At(0, first), v_.At(first, 0), result_,
                   first > 0);
  }

  Head head_;
  const Buffer qkv_;
  const float scale_;
  const DropoutSite site_;
  const HeadBlock q_;       // (64, columns)
  const HeadBlock kt_;      // (columns, rows)
  const HeadBlock v_;       // (rows, columns)
  const HeadBlock scores_;  // (64, rows)
  const HeadBlock result_;  // (64, columns)
  SoftmaxRows rows_;
};

inline void AttentionForwardHead(const AttentionShape& shape, Buffer out, float* lse, Buffer qkv,
                                 const Dropout& dropout, int64_t index, float* scratch) {
  AttentionForward(shape, qkv, dropout, index, scratch).Run(out, lse);
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
