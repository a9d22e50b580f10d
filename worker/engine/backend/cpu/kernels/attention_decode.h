// Causal attention of new tokens against the cached keys and values of their sequence, one query
// row at a time. Keys are stored in blocks of kKeyBlock positions, channel by channel, so that
// scores are vectors over positions; values are stored row by row. Sums run in the order of
// attention.h, so a row has the same bits as in a full pass.
#pragma once

#include <type_traits>

#include "worker/engine/backend/cpu/kernels/attention.h"
#include "worker/engine/backend/cpu/kernels/element.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/cpu/kernels/vector.h"

namespace gp::engine::GP_ISA_NAMESPACE {

inline constexpr int kBlockVectors = kKeyBlock / kWidth;
inline constexpr int kBlocksAtOnce = 4 / kBlockVectors;  // 4 sums hide the latency of one

// One head of one sequence in the cache.
template <typename T>
struct CachedHead {
  T* keys;    // (capacity / kKeyBlock, head_size, kKeyBlock)
  T* values;  // (capacity, head_size)
  int64_t head_size;

  void Put(int64_t position, const T* key, const T* value) {
    T* column = keys + position / kKeyBlock * kKeyBlock * head_size + position % kKeyBlock;
    for (int64_t i = 0; i < head_size; ++i) column[i * kKeyBlock] = key[i];
    __builtin_memcpy(values + position * head_size, value,
                     static_cast<size_t>(head_size) * sizeof(T));
  }
};

// Computes the scores of query q with kBlocks blocks of keys.
template <int kBlocks, typename T>
inline void ScoreBlocks(const T* keys, int64_t head_size, const float* q, float* scores) {
  Vec sums[kBlocks][kBlockVectors] = {};
  for (int64_t i = 0; i < head_size; ++i) {
    const Vec channel = Splat(q[i]);
#pragma GCC unroll 4
    for (int b = 0; b < kBlocks; ++b) {
#pragma GCC unroll 4
      for (int v = 0; v < kBlockVectors; ++v) {
        const T* from = keys + (b * head_size + i) * kKeyBlock + v * kWidth;
        sums[b][v] = sums[b][v] + channel * Load(from);
      }
    }
  }
  for (int b = 0; b < kBlocks; ++b) {
    for (int v = 0; v < kBlockVectors; ++v) Store(scores + b * kKeyBlock + v * kWidth, sums[b][v]);
  }
}

// Computes the scores of q with keys [0, count) and with the padding in their last block.
template <typename T>
inline void ScoreRow(const CachedHead<T>& head, int64_t count, const float* q, float* scores) {
  const int64_t blocks = (count + kKeyBlock - 1) / kKeyBlock;
  const int64_t block_size = kKeyBlock * head.head_size;
  int64_t b = 0;
  for (; b + kBlocksAtOnce <= blocks; b += kBlocksAtOnce) {
    ScoreBlocks<kBlocksAtOnce>(head.keys + b * block_size, head.head_size, q,
                               scores + b * kKeyBlock);
  }
  for (; b < blocks; ++b) {
    ScoreBlocks<1>(head.keys + b * block_size, head.head_size, q, scores + b * kKeyBlock);
  }
}

// Sums `count` value rows, weighted by `weights`, and multiplies by `factor`; computes kVectors
// vectors of channels.
template <int kVectors, typename T>
inline void SumValues(const T* values, int64_t head_size, int64_t count, const float* weights,
                      float factor, T* out) {
  Vec sums[kVectors] = {};
  for (int64_t j = 0; j < count; ++j) {
    const Vec weight = Splat(weights[j]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = sums[v] + weight * Load(values + j * head_size + v * kWidth);
    }
  }
  for (int v = 0; v < kVectors; ++v) Store(out + v * kWidth, sums[v] * factor);
}

template <typename T>
inline void ValueRow(const CachedHead<T>& head, int64_t count, const float* weights, float factor,
                     T* out) {
  const int64_t size = head.head_size;
  int64_t i = 0;
  for (; i + 4 * kWidth <= size; i += 4 * kWidth) {
    SumValues<4>(head.values + i, size, count, weights, factor, out + i);
  }
  for (; i + kWidth <= size; i += kWidth) {
    SumValues<1>(head.values + i, size, count, weights, factor, out + i);
  }
  if (i == size) return;
  Vec sum{};
  for (int64_t j = 0; j < count; ++j) {
    sum = sum + Splat(weights[j]) * Load(head.values + j * size + i, size - i);
  }
  Store(out + i, sum * factor, size - i);
}

template <typename T>
inline void AttendRows(const CachedAttention& args, const CacheRows& rows, int64_t index,
                       float* scratch) {
  const int64_t size = args.head_size;
  const int64_t channels = args.heads * size;
  const int64_t cached = (rows.slot * args.heads + index) * args.cache.capacity * size;
  CachedHead<T> head{static_cast<T*>(args.cache.keys.data) + cached,
                     static_cast<T*>(args.cache.values.data) + cached, size};
  const float scale = ScoreScale({.head_size = size});
  float* scores = scratch;
  float* q = scratch + args.cache.capacity;
  for (int64_t r = 0; r < rows.count; ++r) {
    const T* from =
        static_cast<const T*>(args.qkv.data) + (rows.row + r) * 3 * channels + index * size;
    const int64_t position = rows.position + r;
    head.Put(position, from + channels, from + 2 * channels);
    ForVectors(0, size, [&](int64_t i, int64_t lanes) {
      Store(q + i, Load(from + i, lanes) * scale, lanes);
    });
    ScoreRow(head, position + 1, q, scores);
    float maximum;
    float sum;
    ExpRow(scores, position + 1, &maximum, &sum);
    ValueRow(head, position + 1, scores, 1.0f / sum,
             static_cast<T*>(args.out.data) + (rows.row + r) * channels + index * size);
  }
}

inline void CachedAttentionHead(const CachedAttention& args, const CacheRows& rows, int64_t index,
                                float* scratch) {
  WithElement(args.out, [&](auto* out) {
    AttendRows<std::remove_reference_t<decltype(*out)>>(args, rows, index, scratch);
  });
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
