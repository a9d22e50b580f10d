// Sums and maxima over a warp and over a block, in an order that depends on the block's size alone.
// For .cu files only.
#pragma once

#include <cuda_runtime.h>

#include "worker/engine/backend/cuda/kernels/shared_memory.cuh"

namespace gp::engine {

inline constexpr int kWarpSize = 32;
inline constexpr unsigned int kAllLanes = 0xffffffffu;

struct AddOperation {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct MaxOperation {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

// Returns the reduction over the lanes of a warp to every lane. All lanes call.
template <typename Operation, typename T>
__device__ T WarpReduce(T value) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value = Operation()(value, __shfl_xor_sync(kAllLanes, value, offset));
  }
  return value;
}

template <typename T>
__device__ T WarpSum(T value) {
  return WarpReduce<AddOperation>(value);
}

// Returns the reduction over a one-dimensional block of kThreads (whole warps, at most 32) to every
// thread. All threads call. `scratch` is shared memory for one value per warp, which no thread may
// use between its last barrier and this call.
template <typename Operation, int kThreads, typename T>
__device__ T BlockReduce(T value, T* scratch) {
  static_assert(kThreads % kWarpSize == 0 && kThreads <= 1024);
  constexpr int kWarps = kThreads / kWarpSize;
  value = WarpReduce<Operation>(value);
  if (kWarps == 1) return value;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  // Every thread adds the warps' values. This needs one barrier fewer than if one thread added them
  // and shared the result.
  T total = scratch[0];
#pragma unroll
  for (int i = 1; i < kWarps; ++i) total = Operation()(total, scratch[i]);
  __syncthreads();
  return total;
}

template <int kThreads, typename T>
__device__ T BlockSum(T value, T* scratch) {
  return BlockReduce<AddOperation, kThreads>(value, scratch);
}
template <int kThreads, typename T>
__device__ T BlockMax(T value, T* scratch) {
  return BlockReduce<MaxOperation, kThreads>(value, scratch);
}

}  // namespace gp::engine
