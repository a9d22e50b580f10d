// A block per row, which it reads in chunks. Each thread takes the largest of its share of a chunk.
// The count-th largest of these maxima is a bound: `count` logits are at least as large, so the
// others need not be looked at. The few that pass it are ranked by comparing each with all.
#include <cmath>
#include <stdexcept>
#include <string>

#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/likeliest.h"
#include "worker/engine/backend/cuda/kernels/shared_memory.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

constexpr int kThreads = 512;
constexpr int kShare = 64;  // logits of a thread in a chunk
constexpr int64_t kChunk = int64_t{kThreads} * kShare;
constexpr int kCountMax = static_cast<int>(kLikeliestMax);
// Only the shares of `count` threads can pass the bound, and the best of the chunks before.
constexpr int kCandidatesMax = kCountMax * (kShare + 1);

// A logit and its id in one number: larger for a larger logit, and of equal ones for the lower id.
// Keys are different from each other, and never 0.
using Key = unsigned long long;

__device__ __forceinline__ Key KeyOf(float logit, int64_t id) {
  const float value = logit != logit ? -INFINITY : logit + 0.0f;  // no NaN and no -0
  const unsigned int bits = __float_as_uint(value);
  const unsigned int ordered = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  return Key{ordered} << 32 | (0xffffffffu - static_cast<unsigned int>(id));
}

__device__ __forceinline__ float LogitOf(Key key) {
  const auto ordered = static_cast<unsigned int>(key >> 32);
  return __uint_as_float((ordered & 0x80000000u) != 0 ? ordered & 0x7fffffffu : ~ordered);
}

__device__ __forceinline__ int IdOf(Key key) {
  return static_cast<int>(0xffffffffu - static_cast<unsigned int>(key));
}

// How many keys are larger; of equal ones (0, without a logit), those before `index` count, too.
__device__ __forceinline__ int RankOf(Key key, int index, const Key* keys, int count) {
  int rank = 0;
  for (int i = 0; i < count; ++i) rank += keys[i] > key || (keys[i] == key && i < index) ? 1 : 0;
  return rank;
}

__global__ void __launch_bounds__(kThreads)
    LikeliestKernel(int64_t columns, int64_t below, int count, const float* logits, int32_t* ids,
                    float* values) {
  AwaitPrevious();
  GP_SHARED(Key, maxima, [kThreads]);
  GP_SHARED(Key, candidates, [kCandidatesMax]);
  GP_SHARED(Key, best, [kCountMax]);  // of the chunks so far, the largest first
  GP_SHARED(Key, bound);
  GP_SHARED(int, found);
  const auto thread = static_cast<int>(threadIdx.x);
  const float* row = logits + blockIdx.x * columns;
  if (thread < count) best[thread] = 0;
  for (int64_t first = 0; first < below; first += kChunk) {
    const int64_t last = min(first + kChunk, below);
    Key largest = 0;
#pragma unroll 8
    for (int64_t i = first + thread; i < last; i += kThreads) {
      largest = max(largest, KeyOf(row[i], i));
    }
    __syncthreads();
    maxima[thread] = largest;
    if (thread == 0) found = 0;
    __syncthreads();
    if (RankOf(largest, thread, maxima, kThreads) == count - 1) {
      bound = max(largest, best[count - 1]);
    }
    __syncthreads();
    const Key least = bound;
    if (largest >= least) {
      for (int64_t i = first + thread; i < last; i += kThreads) {
        const Key key = KeyOf(row[i], i);
        if (key >= least) candidates[atomicAdd(&found, 1)] = key;
      }
    }
    if (thread < count && best[thread] != 0) candidates[atomicAdd(&found, 1)] = best[thread];
    __syncthreads();
    for (int i = thread; i < found; i += kThreads) {
      const int rank = RankOf(candidates[i], i, candidates, found);
      if (rank < count) best[rank] = candidates[i];
    }
  }
  __syncthreads();
  if (thread >= count) return;
  ids[int64_t{blockIdx.x} * count + thread] = IdOf(best[thread]);
  values[int64_t{blockIdx.x} * count + thread] = LogitOf(best[thread]);
}

}  // namespace

void LaunchLikeliest(const LikeliestTokens& args, cudaStream_t stream) {
  if (args.rows == 0) return;
  if (args.count < 1 || args.count > kLikeliestMax || args.count > args.below) {
    throw std::invalid_argument("cannot find the " + std::to_string(args.count) + " likeliest of " +
                                std::to_string(args.below) + " tokens");
  }
  Launch(LikeliestKernel, static_cast<unsigned int>(args.rows), kThreads, 0, stream, args.columns,
         args.below, static_cast<int>(args.count), args.logits, args.ids, args.values);
}

}  // namespace gp::engine
