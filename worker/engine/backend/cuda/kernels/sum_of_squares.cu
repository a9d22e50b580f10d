#include <algorithm>

#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/reduction.cuh"
#include "worker/engine/backend/cuda/kernels/sum_of_squares.h"
#include "worker/engine/backend/cuda/kernels/vector_access.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

constexpr int kThreads = 256;
constexpr int kVector = 4;

// The sum of squares of one vector, in double and in ascending order. The loads of the next vectors
// overlap with it.
template <bool kAligned>
__device__ __forceinline__ double SquaresAt(const float* values) {
  Floats<kVector> loaded;
  if constexpr (kAligned) {
    loaded = LoadFloats<kVector>(values);
  } else {
#pragma unroll
    for (int i = 0; i < kVector; ++i) loaded.lane[i] = values[i];
  }
  double sum = 0;
#pragma unroll
  for (int i = 0; i < kVector; ++i) sum += double{loaded.lane[i]} * loaded.lane[i];
  return sum;
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads)
    SquaresOfBlocksKernel(double* block_sums, const float* values, int64_t count) {
  AwaitPrevious();
  const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t stride = int64_t{gridDim.x} * kThreads * kVector;
  GP_SHARED(double, scratch, [kThreads / kWarpSize]);
  double sum = 0;
  int64_t i = thread * kVector;
#pragma unroll 4
  for (; i + kVector <= count; i += stride) sum += SquaresAt<kAligned>(values + i);
  for (; i < count; ++i) sum += double{values[i]} * values[i];
  sum = BlockSum<kThreads>(sum, scratch);
  if (threadIdx.x == 0) block_sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads)
    SumOfBlocksKernel(double* sum, const double* block_sums, int blocks) {
  AwaitPrevious();
  GP_SHARED(double, scratch, [kThreads / kWarpSize]);
  double total = 0;
  for (int i = static_cast<int>(threadIdx.x); i < blocks; i += kThreads) total += block_sums[i];
  total = BlockSum<kThreads>(total, scratch);
  if (threadIdx.x == 0) *sum = total;
}

}  // namespace

void LaunchSumOfSquares(double* sum, const float* values, int64_t count, double* scratch,
                        cudaStream_t stream) {
  constexpr int64_t kBlockValues = 4 * kThreads * kVector;
  const int64_t blocks =
      std::clamp((count + kBlockValues - 1) / kBlockValues, int64_t{1}, kSumOfSquaresScratch);
  Launch(AlignedTo(values, 16) ? SquaresOfBlocksKernel<true> : SquaresOfBlocksKernel<false>,
         static_cast<unsigned int>(blocks), kThreads, 0, stream, scratch, values, count);
  Launch(SumOfBlocksKernel, 1, kThreads, 0, stream, sum, scratch, static_cast<int>(blocks));
}

}  // namespace gp::engine
