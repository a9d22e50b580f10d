// For kernels in which each warp has a row of a matrix (rows, columns), and each lane every 32nd
// vector of kLanes elements of it. WarpRow says where a thread works; RowBatch reads many vectors
// of a row at a time. For .cu files only.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "worker/engine/backend/cuda/kernels/reduction.cuh"
#include "worker/engine/backend/cuda/kernels/vector_access.cuh"

namespace gp::engine {

template <int kLanes>
struct WarpRow {
  static constexpr int kStride = kWarpSize * kLanes;

  int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  // The first column of this lane; the next ones follow by kStride.
  int first = static_cast<int>(threadIdx.x) % kWarpSize * kLanes;
  int64_t row = int64_t{blockIdx.x} * (blockDim.x / kWarpSize) + warp;
};

// Vectors for which a lane has registers. With 4 or 8 elements in a vector, a warp holds a whole
// row of 768 columns.
template <int kLanes>
inline constexpr int kRowVectors = kLanes == 1 ? 4 : 24 / kLanes;
template <int kLanes>
inline constexpr int kHalfRowVectors = (kRowVectors<kLanes> + 1) / 2;

// kVectors of the vectors that a lane has of a row, as stored. The compiler must not move a load
// above an earlier store, because both may alias: a loop that loads and stores vector by vector
// waits for memory at each of them. Load requests all vectors before the first one is used.
template <int kLanes, int kVectors, typename T>
struct RowBatch {
  // Columns of the row from one batch to the next.
  static constexpr int kColumns = kVectors * kWarpSize * kLanes;

  Packed<T, kLanes> vectors[kVectors];

  // Loads the vectors at `column` and after it, up to the end of the row.
  __device__ __forceinline__ void Load(const T* row, int column, int columns) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const int c = column + i * kWarpSize * kLanes;
      if (c < columns) vectors[i] = LoadPacked<kLanes>(row + c);
    }
  }

  // Calls use(c, i) for each vector i of the batch at `column` that is inside the row; it begins at
  // column c.
  template <typename Use>
  __device__ __forceinline__ void ForEach(int column, int columns, Use use) const {
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const int c = column + i * kWarpSize * kLanes;
      if (c < columns) use(c, i);
    }
  }
};

}  // namespace gp::engine
