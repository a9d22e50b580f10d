// Products of tiles in shared memory on CUDA cores, fp32 throughout, for flash attention. A block
// of 16 x 16 threads: thread (x, y) owns rows y + 16 i and columns x + 16 j of scores, and rows
// y + 16 i and a few neighbouring columns of results. Included by flash_cuda_cores_*.cu.
#pragma once

#include "worker/engine/backend/cuda/kernels/attention/flash_view.cuh"

namespace gp::engine {

inline constexpr int kSide = 16;
inline constexpr int kBlockThreads = kSide * kSide;

__device__ __forceinline__ int ThreadX() { return static_cast<int>(threadIdx.x) % kSide; }
__device__ __forceinline__ int ThreadY() { return static_cast<int>(threadIdx.x) / kSide; }

// Tile sizes for head sizes up to kD: a block keeps one tile of kRows rows and walks over tiles of
// kSteps rows.
template <int kHeadSize, int kRowCount, int kStepCount>
struct BlockSizes {
  static constexpr int kD = kHeadSize;
  static constexpr int kRows = kRowCount;
  static constexpr int kSteps = kStepCount;
  static constexpr int kThreadRows = kRows / kSide;
  static constexpr int kThreadSteps = kSteps / kSide;
  // Neighbouring columns of a result that a thread owns, and how many such groups.
  static constexpr int kVector = kD / kSide < 4 ? kD / kSide : 4;
  static constexpr int kVectors = kD / kSide / kVector;
  // Floats from row to row: 16 bytes more than a row keeps 8 rows in different banks.
  static constexpr int kStride = kD + 4;
  static constexpr int kWeightStride = kSteps + 4;

  static constexpr int kRowFloats = kRows * kStride;
  static constexpr int kStepFloats = kSteps * kStride;
  static constexpr int kWeightFloats = kRows * kWeightStride;
};

// Scores, or their gradients, of one thread.
template <typename S>
using BlockScores = float[S::kThreadRows][S::kThreadSteps];
// A result (rows, D) of one thread.
template <typename S>
using BlockResult = float[S::kThreadRows][S::kVectors][S::kVector];

// tile = rows [first, first + kCount), widened, with zeros beyond the sequence and the head.
template <typename S, int kCount, typename T>
__device__ __forceinline__ void ReadTile(float* tile, const HeadRows<const T>& from, int first,
                                         const FlashView& view) {
  for (int i = static_cast<int>(threadIdx.x); i < kCount * S::kD; i += kBlockThreads) {
    const int row = i / S::kD;
    const int column = i % S::kD;
    const bool exists = first + row < view.length && column < view.head_size;
    tile[row * S::kStride + column] = exists ? ToFloat(from.Row(first + row)[column]) : 0.0f;
  }
}

// scores = rows steps^T.
template <typename S>
__device__ __forceinline__ void MultiplyRows(BlockScores<S>& scores, const float* rows,
                                             const float* steps, int head_size) {
#pragma unroll
  for (int i = 0; i < S::kThreadRows; ++i) {
#pragma unroll
    for (int j = 0; j < S::kThreadSteps; ++j) scores[i][j] = 0;
  }
#pragma unroll 2
  for (int d = 0; d < head_size; d += 4) {
    Floats<4> a[S::kThreadRows];
#pragma unroll
    for (int i = 0; i < S::kThreadRows; ++i) {
      a[i] = LoadFloats<4>(rows + (ThreadY() + i * kSide) * S::kStride + d);
    }
#pragma unroll
    for (int j = 0; j < S::kThreadSteps; ++j) {
      const auto b = LoadFloats<4>(steps + (ThreadX() + j * kSide) * S::kStride + d);
#pragma unroll
      for (int i = 0; i < S::kThreadRows; ++i) {
#pragma unroll
        for (int e = 0; e < 4; ++e) scores[i][j] = fmaf(a[i].lane[e], b.lane[e], scores[i][j]);
      }
    }
  }
}

// Writes a thread's scores to shared memory, where the second product reads them.
template <typename S>
__device__ __forceinline__ void WriteWeights(float* weights, const BlockScores<S>& scores) {
#pragma unroll
  for (int i = 0; i < S::kThreadRows; ++i) {
#pragma unroll
    for (int j = 0; j < S::kThreadSteps; ++j) {
      weights[(ThreadY() + i * kSide) * S::kWeightStride + ThreadX() + j * kSide] = scores[i][j];
    }
  }
}

template <typename S>
__device__ __forceinline__ void Clear(BlockResult<S>& result) {
#pragma unroll
  for (int i = 0; i < S::kThreadRows; ++i) {
#pragma unroll
    for (int c = 0; c < S::kVectors; ++c) {
#pragma unroll
      for (int e = 0; e < S::kVector; ++e) result[i][c][e] = 0;
    }
  }
}

// The first column of a thread's group c.
template <typename S>
__device__ __forceinline__ int ColumnOf(int c) {
  return (c * kSide + ThreadX()) * S::kVector;
}

// result += weights steps.
template <typename S>
__device__ __forceinline__ void AddWeighted(BlockResult<S>& result, const float* weights,
                                            const float* steps) {
  for (int k = 0; k < S::kSteps; k += 4) {
    Floats<4> w[S::kThreadRows];
#pragma unroll
    for (int i = 0; i < S::kThreadRows; ++i) {
      w[i] = LoadFloats<4>(weights + (ThreadY() + i * kSide) * S::kWeightStride + k);
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) {
#pragma unroll
      for (int c = 0; c < S::kVectors; ++c) {
        const auto v = LoadFloats<S::kVector>(steps + (k + e) * S::kStride + ColumnOf<S>(c));
#pragma unroll
        for (int i = 0; i < S::kThreadRows; ++i) {
#pragma unroll
          for (int x = 0; x < S::kVector; ++x) {
            result[i][c][x] = fmaf(w[i].lane[e], v.lane[x], result[i][c][x]);
          }
        }
      }
    }
  }
}

// Writes one row of a thread's result, times `factor`. Leaves out what is beyond the sequence or
// the head.
template <typename S, typename T>
__device__ __forceinline__ void WriteResultRow(const HeadRows<T>& to, int row,
                                               const float (&result)[S::kVectors][S::kVector],
                                               float factor, const FlashView& view) {
  if (row >= view.length) return;
#pragma unroll
  for (int c = 0; c < S::kVectors; ++c) {
#pragma unroll
    for (int e = 0; e < S::kVector; ++e) {
      const int column = ColumnOf<S>(c) + e;
      if (column < view.head_size) {
        to.Row(row)[column] = FromFloat<T>(result[c][e] * factor);
      }
    }
  }
}

template <typename S, typename T>
__device__ __forceinline__ void WriteResult(const HeadRows<T>& to, int first,
                                            const BlockResult<S>& result, float factor,
                                            const FlashView& view) {
#pragma unroll
  for (int i = 0; i < S::kThreadRows; ++i) {
    WriteResultRow<S>(to, first + ThreadY() + i * kSide, result[i], factor, view);
  }
}

}  // namespace gp::engine
