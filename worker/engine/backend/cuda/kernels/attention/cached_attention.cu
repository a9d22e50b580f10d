// First the new keys and values go to the cache, then a block per row and head walks over the keys
// of its sequence in chunks. Each chunk is summed by itself, relative to its largest score, and
// folded into the sums of the chunks before it. So blocks may share the chunks of a row, and
// another kernel folds their parts, with the same bits. The order of the sums depends only on the
// head size and the position.
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
constexpr int kKeyLanes = 8;                        // threads that share the product of one key
constexpr int kPassKeys = kThreads / kKeyLanes;     // keys at a time
constexpr int kChunk = 256;                         // keys that are summed by themselves
constexpr int kChannels = kHeadSizeMax / kThreads;  // of a head, that a thread folds
// Rows times heads from which on they fill a device without sharing their keys.
constexpr int64_t kManyBlocks = 256;
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

// A slot of -1 is padding.
__device__ __forceinline__ BatchRow FindRow(const DecodeRows& rows, int64_t index) {
  return {index, rows.slots[index], rows.positions[index]};
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

// A block per row.
template <typename T, typename Rows>
__global__ void __launch_bounds__(kThreads) PutKernel(Rows rows, Cache<T> cache, const T* qkv) {
  AwaitPrevious();
  const BatchRow row = FindRow(rows, blockIdx.x);
  if (row.slot < 0) return;
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

// Shared memory of a block.
struct Shared {
  float* q;        // (head size), scaled
  float* scores;   // (kChunk)
  float* scratch;  // one for each warp
  float* partial;  // (kThreads * kVector)
  float* sums;     // (head size): what a chunk adds up to
};

// What a chunk of keys adds up to, relative to its largest score. The weighted values are in
// Shared::sums.
struct ChunkSums {
  float maximum;
  float denominator;
};

// sums = the weighted values of keys [0, count) of a chunk: each thread those of its share, then
// the threads of a channel in order.
template <int kVector, typename T>
__device__ __forceinline__ void SumValues(const Shared& shared, const T* values, int64_t count,
                                          int head_size) {
  const Share share((head_size + kVector - 1) / kVector);
#pragma unroll
  for (int v = 0; v < kVectorsMax; ++v) {
    const int d = (share.first + v * share.stride) * kVector;
    float sums[kVector] = {};
    for (int64_t key = share.group; d < head_size && key < count; key += share.groups) {
      const auto value = LoadFloats<kVector>(values + key * head_size + d);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        sums[i] = fmaf(shared.scores[key], value.lane[i], sums[i]);
      }
    }
    __syncthreads();
    for (int i = 0; i < kVector; ++i) shared.partial[threadIdx.x * kVector + i] = sums[i];
    __syncthreads();
    if (share.group != 0 || d >= head_size) continue;
    for (int i = 0; i < kVector; ++i) {
      float sum = 0;
      for (int g = 0; g < share.groups; ++g) {
        sum += shared.partial[(g * share.stride + share.first) * kVector + i];
      }
      shared.sums[d + i] = sum;
    }
  }
}

// Sums the keys [first, last). All threads call; sums is complete after the next barrier.
template <int kVector, typename T>
__device__ __forceinline__ ChunkSums SumChunk(const Shared& shared, const T* keys, const T* values,
                                              int64_t first, int64_t last, int head_size) {
  __syncthreads();
  Score<kVector>(shared.scores, shared.q, keys, first, last, head_size);
  __syncthreads();
  float largest = -INFINITY;
  for (int64_t i = threadIdx.x; i < last - first; i += kThreads) {
    largest = fmaxf(largest, shared.scores[i]);
  }
  largest = BlockMax<kThreads>(largest, shared.scratch);
  float sum = 0;
  for (int64_t i = threadIdx.x; i < last - first; i += kThreads) {
    shared.scores[i] = expf(shared.scores[i] - largest);
    sum += shared.scores[i];
  }
  const float denominator = BlockSum<kThreads>(sum, shared.scratch);
  SumValues<kVector>(shared, values + first * head_size, last - first, head_size);
  return {largest, denominator};
}

// The sums of the chunks so far; a thread has channels threadIdx.x, threadIdx.x + kThreads, …
struct Folded {
  float maximum = -INFINITY;
  float denominator = 0;
  float sums[kChannels] = {};

  // fmaf, so that the compiler rounds in the same places wherever this is used.
  __device__ __forceinline__ void Add(const ChunkSums& chunk, const float* added, int head_size) {
    const float largest = fmaxf(maximum, chunk.maximum);
    const float before = expf(maximum - largest);
    const float now = expf(chunk.maximum - largest);
    maximum = largest;
    denominator = fmaf(denominator, before, chunk.denominator * now);
#pragma unroll
    for (int i = 0; i < kChannels; ++i) {
      const int d = static_cast<int>(threadIdx.x) + i * kThreads;
      if (d < head_size) sums[i] = fmaf(sums[i], before, added[d] * now);
    }
  }
  template <typename T>
  __device__ __forceinline__ void Write(T* out, int head_size) const {
    const float factor = 1.0f / denominator;
#pragma unroll
    for (int i = 0; i < kChannels; ++i) {
      const int d = static_cast<int>(threadIdx.x) + i * kThreads;
      if (d < head_size) out[d] = FromFloat<T>(sums[i] * factor);
    }
  }
};

// The row and the head of a block.
template <typename T>
struct Head {
  template <typename Rows>
  __device__ Head(const Rows& rows, const Cache<T>& cache)
      : row(FindRow(rows, blockIdx.x / cache.heads)),
        head(static_cast<int>(blockIdx.x % static_cast<unsigned int>(cache.heads))),
        channels(int64_t{cache.heads} * cache.head_size),
        count(row.position + 1) {}

  __device__ const T* Query(const T* qkv, int head_size) const {
    return qkv + row.row * 3 * channels + head * head_size;
  }
  __device__ T* Out(T* out, int head_size) const {
    return out + row.row * channels + head * head_size;
  }

  BatchRow row;
  int head;
  int64_t channels;
  int64_t count;  // keys
};

template <typename T>
__device__ __forceinline__ void LoadQuery(float* q, const T* from, int head_size, float scale) {
  for (int d = static_cast<int>(threadIdx.x); d < head_size; d += kThreads) {
    q[d] = ToFloat(from[d]) * scale;
  }
}

#define GP_ATTEND_SHARED(kVector)                    \
  GP_SHARED(float, q, [kHeadSizeMax]);               \
  GP_SHARED(float, scores, [kChunk]);                \
  GP_SHARED(float, scratch, [kThreads / kWarpSize]); \
  GP_SHARED(float, partial, [kThreads * (kVector)]); \
  GP_SHARED(float, chunk_sums, [kHeadSizeMax]);      \
  const Shared shared { q, scores, scratch, partial, chunk_sums }

// A block per row and head.
template <int kVector, typename T, typename Rows>
__global__ void __launch_bounds__(kThreads)
    AttendKernel(Rows rows, Cache<T> cache, T* out, const T* qkv, float scale) {
  AwaitPrevious();
  GP_ATTEND_SHARED(kVector);
  const Head<T> at(rows, cache);
  if (at.row.slot < 0) return;
  const int size = cache.head_size;
  const int64_t begin = cache.At(at.row.slot, at.head, 0);
  LoadQuery(shared.q, at.Query(qkv, size), size, scale);
  Folded folded;
  for (int64_t first = 0; first < at.count; first += kChunk) {
    const ChunkSums chunk = SumChunk<kVector>(shared, cache.keys + begin, cache.values + begin,
                                              first, min(first + kChunk, at.count), size);
    __syncthreads();
    folded.Add(chunk, shared.sums, size);
  }
  folded.Write(at.Out(out, size), size);
}

// A part is a ChunkSums and then the sums (head size); (rows, heads, chunks, 2 + head size).
__device__ __forceinline__ float* PartOf(float* parts, int64_t chunks, int64_t chunk, int size) {
  return parts + (int64_t{blockIdx.x} * chunks + chunk) * (2 + size);
}

// A block per row and head, and chunk of keys: blockIdx.y.
template <int kVector, typename T>
__global__ void __launch_bounds__(kThreads)
    AttendPartKernel(DecodeRows rows, Cache<T> cache, float* parts, const T* qkv, float scale) {
  AwaitPrevious();
  GP_ATTEND_SHARED(kVector);
  const Head<T> at(rows, cache);
  const int64_t first = int64_t{blockIdx.y} * kChunk;
  if (at.row.slot < 0 || first >= at.count) return;
  const int size = cache.head_size;
  const int64_t begin = cache.At(at.row.slot, at.head, 0);
  LoadQuery(shared.q, at.Query(qkv, size), size, scale);
  const ChunkSums chunk = SumChunk<kVector>(shared, cache.keys + begin, cache.values + begin, first,
                                            min(first + kChunk, at.count), size);
  __syncthreads();
  float* part = PartOf(parts, gridDim.y, blockIdx.y, size);
  if (threadIdx.x == 0) {
    part[0] = chunk.maximum;
    part[1] = chunk.denominator;
  }
  for (int d = static_cast<int>(threadIdx.x); d < size; d += kThreads) {
    part[2 + d] = shared.sums[d];
  }
}

// A block per row and head.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    FoldPartsKernel(DecodeRows rows, Cache<T> cache, T* out, float* parts, int64_t chunks) {
  AwaitPrevious();
  const Head<T> at(rows, cache);
  if (at.row.slot < 0) return;
  const int size = cache.head_size;
  Folded folded;
  for (int64_t chunk = 0; chunk * kChunk < at.count; ++chunk) {
    const float* part = PartOf(parts, chunks, chunk, size);
    folded.Add({part[0], part[1]}, part + 2, size);
  }
  folded.Write(at.Out(out, size), size);
}

#undef GP_ATTEND_SHARED

int64_t ChunksOf(const CachedAttention& args) {
  return (args.cache.capacity + kChunk - 1) / kChunk;
}

// The operands of all kernels.
template <typename T>
struct Operands {
  explicit Operands(const CachedAttention& args)
      : cache{static_cast<T*>(args.cache.keys.data), static_cast<T*>(args.cache.values.data),
              args.cache.capacity, static_cast<int>(args.heads), static_cast<int>(args.head_size)},
        qkv(static_cast<const T*>(args.qkv.data)),
        out(static_cast<T*>(args.out.data)),
        scale(1.0f / std::sqrt(static_cast<float>(args.head_size))),
        vectorizes(args.head_size % kVector == 0 && AlignedTo(cache.keys, 16) &&
                   AlignedTo(cache.values, 16)) {}

  static constexpr int kVector = 16 / sizeof(T);
  const Cache<T> cache;
  const T* const qkv;
  T* const out;
  const float scale;
  const bool vectorizes;
};

template <typename T, typename Rows>
void LaunchWhole(const Operands<T>& o, const Rows& rows, int64_t count, cudaStream_t stream) {
  Launch(o.vectorizes ? AttendKernel<Operands<T>::kVector, T, Rows> : AttendKernel<1, T, Rows>,
         static_cast<unsigned int>(count * o.cache.heads), kThreads, 0, stream, rows, o.cache,
         o.out, o.qkv, o.scale);
}

template <typename T>
void LaunchParts(const Operands<T>& o, const DecodeRows& rows, int64_t chunks, float* parts,
                 cudaStream_t stream) {
  const auto heads = static_cast<unsigned int>(rows.rows * o.cache.heads);
  Launch(o.vectorizes ? AttendPartKernel<Operands<T>::kVector, T> : AttendPartKernel<1, T>,
         dim3(heads, static_cast<unsigned int>(chunks)), kThreads, 0, stream, rows, o.cache, parts,
         o.qkv, o.scale);
  Launch(FoldPartsKernel<T>, heads, kThreads, 0, stream, rows, o.cache, o.out, parts, chunks);
}

template <typename T>
void LaunchBatch(const CachedAttention& args, const Batch& batch, cudaStream_t stream) {
  int64_t rows = 0;
  for (int s = 0; s < batch.count; ++s) rows += batch.sequences[s].count;
  if (rows == 0) return;
  const Operands<T> operands(args);
  Launch(PutKernel<T, Batch>, static_cast<unsigned int>(rows), kThreads, 0, stream, batch,
         operands.cache, operands.qkv);
  LaunchWhole(operands, batch, rows, stream);
}

void CheckHeadSize(int64_t head_size) {
  if (head_size >= 1 && head_size <= kHeadSizeMax) return;
  throw std::invalid_argument("cached attention: head size " + std::to_string(head_size) +
                              " is not in [1, " + std::to_string(kHeadSizeMax) + "]");
}

}  // namespace

int64_t CachedAttentionScratch(const CachedAttention& args, int64_t rows) {
  return rows * args.heads * ChunksOf(args) * (2 + args.head_size);
}

void LaunchCachedAttention(const CachedAttention& args, const DecodeRows& rows, float* parts,
                           cudaStream_t stream) {
  CheckHeadSize(args.head_size);
  if (rows.rows == 0) return;
  const bool splits =
      parts != nullptr && ChunksOf(args) > 1 && rows.rows * args.heads < kManyBlocks;
  WithElementType(args.qkv.type, [&](auto element) {
    using T = decltype(element);
    const Operands<T> operands(args);
    Launch(PutKernel<T, DecodeRows>, static_cast<unsigned int>(rows.rows), kThreads, 0, stream,
           rows, operands.cache, operands.qkv);
    if (!splits) return LaunchWhole(operands, rows, rows.rows, stream);
    LaunchParts(operands, rows, ChunksOf(args), parts, stream);
  });
}

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
