// The gradient of causal attention of one head: blocks of 64 keys against blocks of 64 queries.
// Their scores are computed again from q, k and the log of the softmax denominators. dk and dv of a
// block of keys sum over ascending queries, dq over ascending keys.
#pragma once

#include "worker/engine/backend/cpu/kernels/attention_head.h"

namespace gp::engine::GP_ISA_NAMESPACE {

// Turns the scores of `keys` keys into probabilities, and dprobs (the gradient of the
// probabilities) into the gradient of the scores. Sets the rest of the last vector of each to 0.
inline void ScoreGradientRow(float* scores, float* dprobs, int64_t keys, float lse, float dot) {
  ForVectors(0, keys, [&](int64_t j, int64_t lanes) {
    const Vec p = KeepLanes(Exp(Load(scores + j) - lse), lanes, 0);
    Store(scores + j, p);
    Store(dprobs + j, KeepLanes(p * (Load(dprobs + j) - dot), lanes, 0));
  });
}

// The same with dropout, whose factors the probabilities include; column 0 is key `first` of the
// sequence.
inline void DroppedScoreGradientRow(float* scores, float* dprobs, int64_t keys, float lse,
                                    float dot, const DropoutRow& mask, int64_t first) {
  ForVectors(0, keys, [&](int64_t j, int64_t lanes) {
    const Vec p = KeepLanes(Exp(Load(scores + j) - lse), lanes, 0);
    const Vec factor = mask.Mask(first + j);
    Store(scores + j, p * factor);
    Store(dprobs + j, KeepLanes(p * (Load(dprobs + j) * factor - dot), lanes, 0));
  });
}

class AttentionBackward {
 public:
  AttentionBackward(const AttentionShape& shape, const float* lse, Buffer qkv,
                    const Dropout& dropout, int64_t index, float* scratch)
      : head_(shape, index, scratch),
        qkv_(qkv),
        lse_(lse + head_.row()),
        scale_(ScoreScale(shape)),
        site_(dropout),
        q_(head_.Reserve(head_.rows(), head_.columns())),
        dout_(head_.Reserve(head_.rows(), head_.columns())),
        dq_(head_.Reserve(head_.rows(), head_.columns())),
        dots_(head_.Reserve(head_.rows(), 1)),
        k_(head_.Reserve(kAttentionTile, head_.columns())),
        kt_(head_.Reserve(head_.columns(), kScoreStride)),
        vt_(head_.Reserve(head_.columns(), kScoreStride)),
        dk_(head_.Reserve(kAttentionTile, head_.columns())),
        dv_(head_.Reserve(kAttentionTile, head_.columns())),
        scores_(head_.Reserve(kAttentionTile, kScoreStride)),
        dprobs_(head_.Reserve(kAttentionTile, kScoreStride)) {}

  void Run(Buffer dqkv, Buffer dout, Buffer out) {
    ReadQueries(dout, out);
    const Factors ones(1);
    for (int64_t key = 0; key < head_.length(); key += kAttentionTile) {
      ReadKeys(key);
      for (int64_t query = key; query < head_.length(); query += kAttentionTile) {
        ComputeScores(query, key);
        ComputeGradients(query, key);
      }
      head_.Write(dqkv, 1, 3, dk_, key, ones.values);
      head_.Write(dqkv, 2, 3, dv_, key, ones.values);
    }
    const Factors scales(scale_);
    for (int64_t query = 0; query < head_.length(); query += kAttentionTile) {
      head_.Write(dqkv, 0, 3, dq_.At(query, 0), query, scales.values);
    }
  }

 private:
  struct Factors {
    explicit Factors(float factor) {
      for (float& value : values) value = factor;
    }
    float values[kAttentionTile];
  };

  void ReadQueries(Buffer dout, Buffer out) {
    for (int64_t first = 0; first < head_.length(); first += kAttentionTile) {
      head_.Read(qkv_, 0, 3, scale_, first, q_.At(first, 0));
      head_.Read(dout, 0, 1, 1, first, dout_.At(first, 0));
    }
    for (int64_t i = 0; i < head_.length(); ++i) {
      dots_.data[i] = head_.Dot(out, i, dout_.At(i, 0).data);
    }
  }

  void ReadKeys(int64_t first) {
    head_.Read(qkv_, 2, 3, 1, first, k_);
    head_.Transpose(k_, vt_);
    head_.Read(qkv_, 1, 3, 1, first, k_);
    head_.Transpose(k_, kt_);
  }

  void ComputeScores(int64_t query, int64_t key) {
    const int64_t queries = head_.CountFrom(query);
    const int64_t depth = head_.head_size();
    if (query == key) {
      MultiplyScores(queries, depth, q_.At(query, 0), kt_, scores_);
      MultiplyScores(queries, depth, dout_.At(query, 0), vt_, dprobs_);
    } else {
      Multiply<false>(queries, kAttentionTile, depth, q_.At(query, 0), kt_, scores_, false);
      Multiply<false>(queries, kAttentionTile, depth, dout_.At(query, 0), vt_, dprobs_, false);
    }
    for (int64_t r = 0; r < queries; ++r) {
      const int64_t i = query + r;
      const int64_t keys = query == key ? r + 1 : kAttentionTile;
      float* scores = scores_.data + r * scores_.ld;
      float* dprobs = dprobs_.data + r * dprobs_.ld;
      if (site_.active()) {
        DroppedScoreGradientRow(scores, dprobs, keys, lse_[i], dots_.data[i],
                                site_.Row(head_.row() + i), key);
      } else {
        ScoreGradientRow(scores, dprobs, keys, lse_[i], dots_.data[i]);
      }
    }
  }

  void ComputeGradients(int64_t query, int64_t key) {
    const int64_t queries = head_.CountFrom(query);
    const int64_t columns = head_.columns();
    const HeadBlock q = q_.At(query, 0);
    const HeadBlock dout = dout_.At(query, 0);
    const HeadBlock dq = dq_.At(query, 0);
    if (query == key) {
      MultiplyKeys(queries, columns, scores_, dout, dv_);
      MultiplyKeys(queries, columns, dprobs_, q, dk_);
      MultiplyValues(queries, columns, dprobs_, k_, dq, key > 0);
    } else {
      Multiply<true>(kAttentionTile, columns, queries, scores_, dout, dv_, true);
      Multiply<true>(kAttentionTile, columns, queries, dprobs_, q, dk_, true);
      Multiply<false>(queries, columns, kAttentionTile, dprobs_, k_, dq, key > 0);
    }
  }

  Head head_;
  const Buffer qkv_;
  const float* const lse_;
  const float scale_;
  const DropoutSite site_;
  const HeadBlock q_;     // (rows, columns) times the scale
  const HeadBlock dout_;  // (rows, columns)
  const HeadBlock dq_;    // (rows, columns)
  const HeadBlock dots_;  // (rows) dout . out
  // One block of keys.
  const HeadBlock k_;       // (64, columns)
  const HeadBlock kt_;      // (columns, 64)
  const HeadBlock vt_;      // (columns, 64)
  const HeadBlock dk_;      // (64, columns)
  const HeadBlock dv_;      // (64, columns)
  const HeadBlock scores_;  // (64 queries, 64)
  const HeadBlock dprobs_;  // (64 queries, 64)
};

inline void AttentionBackwardHead(const AttentionShape& shape, Buffer dqkv, Buffer dout, Buffer out,
                                  const float* lse, Buffer qkv, const Dropout& dropout,
                                  int64_t index, float* scratch) {
  AttentionBackward(shape, lse, qkv, dropout, index, scratch).Run(dqkv, dout, out);
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
