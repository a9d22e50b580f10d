// Each pass: count the digits of each block's keys, turn the counts into places by one scan over
// (digit, block), move the keys. To keep the order of equal digits within a block, each warp gets
// consecutive keys, and its lanes with equal digits find each other with __match_any_sync.
#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>

#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/reduction.cuh"
#include "worker/engine/backend/cuda/kernels/shared_memory.cuh"
#include "worker/engine/backend/cuda/kernels/token_sort.h"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;
constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarpSize;
static_assert(kThreads == kDigits, "each thread also handles one digit");
// 65536 tokens take 64 blocks; a batch takes at most a few hundred.
constexpr int kWarpRounds = 4;
constexpr int kWarpKeys = kWarpRounds * kWarpSize;
constexpr int kBlockKeys = kWarps * kWarpKeys;
constexpr int kScanThreads = 1024;

struct Pass {
  int64_t count;
  int shift;
  const int32_t* tokens;
  const int32_t* rows;  // absent: key i belongs to row i
  int32_t* counts;      // (kDigits, blocks): first the counts, then the places
  int32_t* to_tokens;
  int32_t* to_rows;
};

__device__ __forceinline__ int DigitOf(int32_t token, int shift) {
  return token >> shift & (kDigits - 1);
}

__global__ void __launch_bounds__(kThreads) CountDigitsKernel(const Pass pass) {
  AwaitPrevious();
  GP_SHARED(int, counts, [kDigits]);
  counts[threadIdx.x] = 0;
  __syncthreads();
  const int64_t begin = int64_t{blockIdx.x} * kBlockKeys;
  for (int i = static_cast<int>(threadIdx.x); i < kBlockKeys; i += kThreads) {
    // These are integers, so the order of the additions does not matter.
    if (begin + i < pass.count) atomicAdd(&counts[DigitOf(pass.tokens[begin + i], pass.shift)], 1);
  }
  __syncthreads();
  pass.counts[int64_t{threadIdx.x} * gridDim.x + blockIdx.x] = counts[threadIdx.x];
}

// The sum of `value` over the threads before this one.
__device__ int SumBefore(int value, int* scratch) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  int sum = value;
#pragma unroll
  for (int offset = 1; offset < kWarpSize; offset *= 2) {
    const int before = __shfl_up_sync(kAllLanes, sum, static_cast<unsigned int>(offset));
    if (lane >= offset) sum += before;
  }
  if (lane == kWarpSize - 1) scratch[warp] = sum;
  __syncthreads();
  int warps_before = 0;
  for (int w = 0; w < warp; ++w) warps_before += scratch[w];
  return warps_before + sum - value;
}

// Exclusive prefix sum of the counts; one block.
__global__ void __launch_bounds__(kScanThreads) ScanKernel(int64_t count, int32_t* counts) {
  AwaitPrevious();
  GP_SHARED(int, scratch, [kScanThreads / kWarpSize]);
  const int64_t share = (count + kScanThreads - 1) / kScanThreads;
  const int64_t begin = min(count, static_cast<int64_t>(threadIdx.x) * share);
  const int64_t end = min(count, begin + share);
  int sum = 0;
  for (int64_t i = begin; i < end; ++i) sum += counts[i];
  int before = SumBefore(sum, scratch);
  for (int64_t i = begin; i < end; ++i) {
    const int own = counts[i];
    counts[i] = before;
    before += own;
  }
}

// Returns the rank of this lane's key among the keys of its warp with the same digit, and adds it
// to the warp's count of the digit.
__device__ int RankInWarp(int digit, bool is_key, int* warp_counts) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const unsigned int same = __match_any_sync(kAllLanes, is_key ? digit : -1);
  const unsigned int below = (1u << lane) - 1;
  const int before = is_key ? warp_counts[digit] : 0;
  __syncwarp();
  if (is_key && (same & below) == 0) warp_counts[digit] = before + __popc(same);
  __syncwarp();
  return before + __popc(same & below);
}

__global__ void __launch_bounds__(kThreads) MoveKernel(const Pass pass) {
  AwaitPrevious();
  GP_SHARED(int, counts, [kWarps][kDigits]);
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  for (int d = lane; d < kDigits; d += kWarpSize) counts[warp][d] = 0;
  __syncwarp();
  const int64_t begin = int64_t{blockIdx.x} * kBlockKeys + warp * kWarpKeys + lane;
  int32_t tokens[kWarpRounds];
  int ranks[kWarpRounds];
#pragma unroll
  for (int round = 0; round < kWarpRounds; ++round) {
    const int64_t i = begin + round * kWarpSize;
    tokens[round] = i < pass.count ? pass.tokens[i] : 0;
    ranks[round] = RankInWarp(DigitOf(tokens[round], pass.shift), i < pass.count, counts[warp]);
  }
  __syncthreads();
  // Converts each warp's count of a digit to the place of its first key.
  int to = pass.counts[int64_t{threadIdx.x} * gridDim.x + blockIdx.x];
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    const int has = counts[w][threadIdx.x];
    counts[w][threadIdx.x] = to;
    to += has;
  }
  __syncthreads();
#pragma unroll
  for (int round = 0; round < kWarpRounds; ++round) {
    const int64_t i = begin + round * kWarpSize;
    if (i >= pass.count) continue;
    const int place = counts[warp][DigitOf(tokens[round], pass.shift)] + ranks[round];
    pass.to_tokens[place] = tokens[round];
    pass.to_rows[place] = pass.rows != nullptr ? pass.rows[i] : static_cast<int32_t>(i);
  }
}

void LaunchPass(const Pass& pass, cudaStream_t stream) {
  const unsigned int blocks = BlocksFor(pass.count, kBlockKeys);
  Launch(&CountDigitsKernel, blocks, kThreads, 0, stream, pass);
  Launch(&ScanKernel, 1, kScanThreads, 0, stream, int64_t{kDigits} * blocks, pass.counts);
  Launch(&MoveKernel, blocks, kThreads, 0, stream, pass);
}

}  // namespace

int64_t TokenSortScratch(int64_t count) {
  return 2 * count + int64_t{kDigits} * BlocksFor(count, kBlockKeys);
}

void LaunchTokenSort(const TokenSort& args, cudaStream_t stream) {
  if (args.count == 0) return;
  if (args.count > std::numeric_limits<int32_t>::max()) {
    throw std::invalid_argument("a batch to sort has at most 2^31 - 1 tokens");
  }
  const auto largest = static_cast<uint64_t>(args.tokens_below - 1);
  const int bits = std::max(1, static_cast<int>(std::bit_width(largest)));
  const int passes = (bits + kDigitBits - 1) / kDigitBits;
  Pass pass{.count = args.count,
            .shift = 0,
            .tokens = args.tokens,
            .rows = nullptr,
            .counts = args.scratch + 2 * args.count,
            .to_tokens = nullptr,
            .to_rows = nullptr};
  for (int i = 0; i < passes; ++i) {
    // The last pass writes to the result; the passes before it alternate between scratch and
    // result.
    const bool to_result = (passes - i) % 2 == 1;
    pass.shift = i * kDigitBits;
    pass.to_tokens = to_result ? args.sorted_tokens : args.scratch;
    pass.to_rows = to_result ? args.sorted_rows : args.scratch + args.count;
    LaunchPass(pass, stream);
    pass.tokens = pass.to_tokens;
    pass.rows = pass.to_rows;
  }
}

}  // namespace gp::engine
