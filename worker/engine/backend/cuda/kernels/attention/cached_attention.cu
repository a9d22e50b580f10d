// First the new keys and values go to the cache, then a block per row and head walks over the keys
// of its sequence in chunks, with the online softmax between chunks. The order of the sums depends
// only on the head size and the position.
//
// Memory traffic: a row reads the keys and values of its sequence once.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "worker/engine/backend/cuda/kernels/attention/cached_attention.h"
#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/reduction.cuh"
#include "worker/engine/backend/cuda/kernels/vector_access.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

constexpr int kThreads = 128;
constexpr int kHeadSizeMax = 256;
constexpr int kKeyLanes = 8;                          // threads that share the product of one key
constexpr int kPassKeys = kThreads / kKeyLanes;       // keys at a time
constexpr int kChunk = 256;                           // keys whose scores are in shared memory
constexpr int kVectorsMax = kHeadSizeMax / kThreads;  // vectors of one thread, rounded up

// The sequences are passed as a kernel argument (2 KiB), so no upload and no wait is needed.
constexpr int kBatch = 64;
struct Batch {
  int count = 0;
  CacheRows sequences[kBatch];
};

// One row of the batch: its place in qkv and out, its sequence's slot and its position in it.
struct BatchRow {
  int64_t row;
  int64_t slot;
  int64_t position;
};

__device__ __forceinline__ BatchRow FindRow(const Batch& batch, int64_t index) {
  int s = 0;
  while (index >= batch.sequences[s].count) index -= batch.sequences[s++].count;
  const CacheRows& rows = batch.sequences[s];
  return {rows.row + index, rows.slot, rows.position + index};
}

template <typename T>
struct Cache {
  T* keys;
  T* values;
  int64_t capacity;
  int heads;
  int head_size;

  // The offset of a head's position in a slot; the same in keys and values.
  __device__ int64_t At(int64_t slot, int head, int64_t position) const {
    return ((slot * heads + head) * capacity + position) * head_size;
  }
};

// A block per row of the batch.
template <typename T>
__global__ void __launch_bounds__(kThreads) PutKernel(Batch batch, Cache<T> cache, const T* qkv) {
  AwaitPrevious();
  const BatchRow row = FindRow(batch, blockIdx.x);
  const int channels = cache.heads * cache.head_size;
  const T* from = qkv + row.row * 3 * channels;
  for (int c = static_cast<int>(threadIdx.x); c < channels; c += kThreads) {
    const int64_t to = cache.At(row.slot, c / cache.head_size, row.position) + c % cache.head_size;
    cache.keys[to] = from[channels + c];
    cache.values[to] = from[2 * channels + c];
  }
}

// Scores of keys [first, last): eight threads share a key, a vector of channels each at a time.
template <int kVector, typename T>
__device__ __forceinline__ void Score(float* scores, const float* q, const T* keys, int64_t first,
                                      int64_t last, int head_size) {
  const int lane = static_cast<int>(threadIdx.x) % kKeyLanes;
  for (int64_t pass = first; pass < last; pass += kPassKeys) {
    const int64_t key = pass + threadIdx.x / kKeyLanes;
    float sum = 0;
    for (int d = lane * kVector; key < last && d < head_size; d += kKeyLanes * kVector) {
      const auto k = LoadFloats<kVector>(keys + key * head_size + d);
#pragma unroll
      for (int i = 0; i < kVector; ++i) sum = fmaf(q[d + i], k.lane[i], sum);
    }
#pragma unroll
    for (int offset = kKeyLanes / 2; offset > 0; offset /= 2) {
      sum += __shfl_xor_sync(kAllLanes, sum, offset);
    }
    if (lane == 0 && key < last) scores[key - first] = sum;
  }
}

// The channels and the keys of a chunk that a thread sums: vectors v, v + stride, … of keys group,
// group + groups, …
struct Share {
  __device__ Share(int vectors)
      : stride(min(RoundUpToPower(vectors), kThreads)),
        first(static_cast<int>(threadIdx.x) % stride),
        group(static_cast<int>(threadIdx.x) / stride),
        groups(kThreads / stride) {}

  static __device__ int RoundUpToPower(int value) {
    int power = 1;
    while (power < value) power *= 2;
    return power;
  }

  int stride;
  int first;
  int group;
  int groups;
};

template <int kVector>
using Sums = float[kVectorsMax][kVector];

// sums = correction * sums + the weighted values of keys [first, last).
template <int kVector, typename T>
__device__ __forceinline__ void AddValues(Sums<kVector>& sums, float correction,
                                          const float* weights, const T* values, int64_t first,
                                          int64_t last, int head_size, const Share& share) {
#pragma unroll
  for (int v = 0; v < kVectorsMax; ++v) {
    const int d = (share.first + v * share.stride) * kVector;
    if (d >= head_size) continue;
#pragma unroll
    for (int i = 0; i < kVector; ++i) sums[v][i] *= correction;
    for (int64_t key = first + share.group; key < last; key += share.groups) {
      const auto value = LoadFloats<kVector>(values + key * head_size + d);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        sums[v][i] = fmaf(weights[key - first], value.lane[i], sums[v][i]);
      }
    }
  }
}

// out = factor * the sums of all groups, added in order through shared memory.
template <int kVector, typename T>
__device__ __forceinline__ void WriteOut(T* out, const Sums<kVector>& sums, float factor,
                                         float* shared, int head_size, const Share& share) {
#pragma unroll
  for (int v = 0; v < kVectorsMax; ++v) {
    const int d = (share.first + v * share.stride) * kVector;
    __syncthreads();
    for (int i = 0; i < kVector; ++i) shared[threadIdx.x * kVector + i] = sums[v][i];
    __syncthreads();
    if (share.group != 0 || d >= head_size) continue;
    for (int i = 0; i < kVector; ++i) {
      float sum = 0;
      for (int g = 0; g < share.groups; ++g) {
        sum += shared[(g * share.stride + share.first) * kVector + i];
      }
      out[d + i] = FromFloat<T>(sum * factor);
    }
  }
}

// A block per row of the batch and head.
template <int kVector, typename T>
__global__ void __launch_bounds__(kThreads)
    AttendKernel(Batch batch, Cache<T> cache, T* out, const T* qkv, float scale) {
  AwaitPrevious();
  GP_SHARED(float, q, [kHeadSizeMax]);
  GP_SHARED(float, scores, [kChunk]);
  GP_SHARED(float, scratch, [kThreads / kWarpSize]);
  GP_SHARED(float, partial, [kThreads * kVector]);
  const BatchRow row = FindRow(batch, blockIdx.x / cache.heads);
  const int head = static_cast<int>(blockIdx.x % static_cast<unsigned int>(cache.heads));
  const int size = cache.head_size;
  const int64_t channels = int64_t{cache.heads} * size;
  const T* keys = cache.keys + cache.At(row.slot, head, 0);
  const T* values = cache.values + cache.At(row.slot, head, 0);
  for (int d = static_cast<int>(threadIdx.x); d < size; d += kThreads) {
    q[d] = ToFloat(qkv[row.row * 3 * channels + head * size + d]) * scale;
  }
  const Share share((size + kVector - 1) / kVector);
  Sums<kVector> sums = {};
  float maximum = -INFINITY;
  float denominator = 0;
  const int64_t count = row.position + 1;
  for (int64_t first = 0; first < count; first += kChunk) {
    const int64_t last = min(first + kChunk, count);
    __syncthreads();
    Score<kVector>(scores, q, keys, first, last, size);
    __syncthreads();
    float largest = maximum;
    for (int64_t i = threadIdx.x; i < last - first; i += kThreads) {
      largest = fmaxf(largest, scores[i]);
    }
    largest = BlockMax<kThreads>(largest, scratch);
    float sum = 0;
    for (int64_t i = threadIdx.x; i < last - first; i += kThreads) {
      scores[i] = expf(scores[i] - largest);
      sum += scores[i];
    }
    const float correction = expf(maximum - largest);
    maximum = largest;
    denominator = denominator * correction + BlockSum<kThreads>(sum, scratch);
    AddValues<kVector>(sums, correction, scores, values, first, last, size, share);
  }
  WriteOut<kVector>(out + row.row * channels + head * size, sums, 1.0f / denominator, partial, size,
                    share);
}

template <typename T>
void LaunchBatch(const CachedAttention& args, const Batch& batch, cudaStream_t stream) {
  int64_t rows = 0;
  for (int s = 0; s < batch.count; ++s) rows += batch.sequences[s].count;
  if (rows == 0) return;
  const Cache<T> cache{static_cast<T*>(args.cache.keys.data),
                       static_cast<T*>(args.cache.values.data), args.cache.capacity,
                       static_cast<int>(args.heads), static_cast<int>(args.head_size)};
  const auto* qkv = static_cast<const T*>(args.qkv.data);
  Launch(PutKernel<T>, static_cast<unsigned int>(rows), kThreads, 0, stream, batch, cache, qkv);
  constexpr int kVector = 16 / sizeof(T);
  const bool vectorizes =
      args.head_size % kVector == 0 && AlignedTo(cache.keys, 16) && AlignedTo(cache.values, 16);
  Launch(vectorizes ? AttendKernel<kVector, T> : AttendKernel<1, T>,
         static_cast<unsigned int>(rows * args.heads), kThreads, 0, stream, batch, cache,
         static_cast<T*>(args.out.data), qkv, 1.0f / std::sqrt(static_cast<float>(args.head_size)));
}

void CheckHeadSize(int64_t head_size) {
  if (head_size >= 1 && head_size <= kHeadSizeMax) return;
  throw std::invalid_argument("cached attention: head size " + std::to_string(head_size) +
                              " is not in [1, " + std::to_string(kHeadSizeMax) + "]");
}

}  // namespace

void LaunchCachedAttention(const CachedAttention& args, cudaStream_t stream) {
  CheckHeadSize(args.head_size);
  for (size_t first = 0; first < args.sequences.size(); first += kBatch) {
    const auto part =
        args.sequences.subspan(first, std::min(size_t{kBatch}, args.sequences.size() - first));
    Batch batch;
    batch.count = static_cast<int>(part.size());
    std::copy(part.begin(), part.end(), batch.sequences);
    WithElementType(args.qkv.type,
                    [&](auto element) { LaunchBatch<decltype(element)>(args, batch, stream); });
  }
}

}  // namespace gp::engine
