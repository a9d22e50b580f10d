#include <algorithm>

#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/column_sums.h"
#include "worker/engine/backend/cuda/kernels/reduction.cuh"
#include "worker/engine/backend/cuda/kernels/shared_memory.cuh"
#include "worker/engine/backend/cuda/kernels/vector_access.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

constexpr int kWarps = 8;
constexpr int64_t kPartRowsMin = 256;
// With 3 blocks of columns at C = 768: about three blocks per multiprocessor of an H100.
constexpr int64_t kPartsMax = 128;

struct Matrix {
  int64_t rows;
  int64_t columns;
  int64_t part_rows;
};

// One warp's sum of kVector columns per lane: the rows first + warp, first + warp + 8, …
template <int kVector, typename T>
__device__ __forceinline__ void SumRows(const Matrix& m, const T* in, int64_t column,
                                        float (&sums)[kVector]) {
  const int64_t first = blockIdx.y * m.part_rows;
  const int64_t last = min(first + m.part_rows, m.rows);
#pragma unroll 4
  for (int64_t row = first + threadIdx.y; row < last; row += kWarps) {
    const auto values = LoadFloats<kVector>(in + row * m.columns + column);
#pragma unroll
    for (int i = 0; i < kVector; ++i) sums[i] += values.lane[i];
  }
}

// parts (part, column) = the sums over the rows of a part. Block (32, 8): a warp per row.
template <int kVector, typename T>
__global__ void __launch_bounds__(kWarpSize* kWarps)
    PartSumsKernel(Matrix m, float* parts, const T* in) {
  AwaitPrevious();
  GP_SHARED(float, shared, [kWarps][kWarpSize * kVector]);
  const int64_t column = (int64_t{blockIdx.x} * kWarpSize + threadIdx.x) * kVector;
  float sums[kVector] = {};
  if (column < m.columns) SumRows(m, in, column, sums);
#pragma unroll
  for (int i = 0; i < kVector; ++i) shared[threadIdx.y][i * kWarpSize + threadIdx.x] = sums[i];
  __syncthreads();
  if (threadIdx.y != 0 || column >= m.columns) return;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    float sum = 0;
    for (int warp = 0; warp < kWarps; ++warp) sum += shared[warp][i * kWarpSize + threadIdx.x];
    parts[blockIdx.y * m.columns + column + i] = sum;
  }
}

// Block (32, 8): each of 8 threads per column adds every eighth part.
__global__ void __launch_bounds__(kWarpSize* kWarps)
    SumOfPartsKernel(int64_t columns, int part_count, float* sums, const float* parts,
                     bool accumulate) {
  AwaitPrevious();
  GP_SHARED(float, shared, [kWarps][kWarpSize]);
  const int64_t column = int64_t{blockIdx.x} * kWarpSize + threadIdx.x;
  float sum = 0;
  if (column < columns) {
    for (int part = static_cast<int>(threadIdx.y); part < part_count; part += kWarps) {
      sum += parts[part * columns + column];
    }
  }
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  float total = 0;
  for (int i = 0; i < kWarps; ++i) total += shared[i][threadIdx.x];
  sums[column] = accumulate ? sums[column] + total : total;
}

template <int kVector, typename T>
void LaunchPartSums(const Matrix& m, int64_t part_count, float* parts, const T* in,
                    cudaStream_t stream) {
  Launch(PartSumsKernel<kVector, T>,
         dim3(BlocksFor(m.columns, kWarpSize * kVector), static_cast<unsigned int>(part_count)),
         dim3(kWarpSize, kWarps), 0, stream, m, parts, in);
}

}  // namespace

int64_t ColumnSumParts(int64_t rows) {
  return std::clamp((rows + kPartRowsMin - 1) / kPartRowsMin, int64_t{1}, kPartsMax);
}

void LaunchColumnSums(Buffer in, int64_t rows, int64_t columns, float* sums, bool accumulate,
                      float* scratch, cudaStream_t stream) {
  if (columns == 0) return;
  const int64_t part_count = ColumnSumParts(rows);
  const Matrix m{rows, columns, (rows + part_count - 1) / part_count};
  WithElementType(in.type, [&](auto element) {
    using T = decltype(element);
    constexpr int kVector = 16 / sizeof(T);
    const auto* from = static_cast<const T*>(in.data);
    if (AlignedTo(from, 16) && columns % kVector == 0) {
      LaunchPartSums<kVector>(m, part_count, scratch, from, stream);
    } else {
      LaunchPartSums<1>(m, part_count, scratch, from, stream);
    }
  });
  Launch(SumOfPartsKernel, BlocksFor(columns, kWarpSize), dim3(kWarpSize, kWarps), 0, stream,
         columns, static_cast<int>(part_count), sums, scratch, accumulate);
}

}  // namespace gp::engine
