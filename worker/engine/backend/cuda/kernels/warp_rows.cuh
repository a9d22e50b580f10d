// One warp per row: where a thread works in a matrix (rows, columns) when each warp of a block has
// a row for itself and each lane every 32nd vector of kLanes elements. For .cu files only.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "worker/engine/backend/cuda/kernels/reduction.cuh"

namespace gp::engine {

template <int kLanes>
struct WarpRow {
  static constexpr int64_t kStride = int64_t{kWarpSize} * kLanes;

  int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  // The first column of this lane; the next ones follow by kStride.
  int64_t first = static_cast<int64_t>(threadIdx.x) % kWarpSize * kLanes;
  int64_t row = int64_t{blockIdx.x} * (blockDim.x / kWarpSize) + warp;
};

}  // namespace gp::engine
