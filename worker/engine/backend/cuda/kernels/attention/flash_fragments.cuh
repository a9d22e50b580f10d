// Tiles of heads in shared memory and in the registers of a warp, for the tensor-core forms of
// flash attention. Included by flash_tensor_cores_*.cu.
#pragma once

#include "worker/engine/backend/cuda/kernels/attention/flash_view.cuh"
#include "worker/engine/backend/cuda/kernels/reduction.cuh"
#include "worker/engine/backend/cuda/kernels/tensor_core.cuh"

namespace gp::engine {

// Elements from row to row of a tile: 16 bytes more than the row, so that eight rows of an 8 x 8
// tile lie in different banks.
template <int kD>
inline constexpr int kTileStride = kD + 8;

// Bytes of a tile of 16-bit elements.
template <int kD>
constexpr int64_t TileBytes(int rows) {
  return int64_t{rows} * kTileStride<kD> * 2;
}

// Calls `launch` with an element of `type` and, as a constant, the smallest width of a tile that
// holds the head. fp32, which the tensor cores here do not support, launches nothing.
template <typename LaunchTile>
void WithTensorCoreTile(DataType type, int64_t head_size, LaunchTile&& launch) {
  WithElementType(type, [&](auto element) {
    if constexpr (sizeof(element) == 2) {
      if (head_size <= 32) return launch(element, std::integral_constant<int, 32>());
      if (head_size <= 64) return launch(element, std::integral_constant<int, 64>());
      launch(element, std::integral_constant<int, 128>());
    }
  });
}

#if GP_TENSOR_CORES

__device__ __forceinline__ int Lane() { return static_cast<int>(threadIdx.x) % kWarpSize; }
__device__ __forceinline__ int Warp() { return static_cast<int>(threadIdx.x) / kWarpSize; }
// lane = 4 * group + member, as tensor_core.cuh names them.
__device__ __forceinline__ int Group() { return Lane() / 4; }
__device__ __forceinline__ int Member() { return Lane() % 4; }

// Begins to copy rows [first, first + kRows) into a tile, with zeros beyond the sequence and
// beyond the head.
template <int kRows, int kD, int kThreads, typename T>
__device__ __forceinline__ void CopyTile(T* tile, const HeadRows<const T>& from, int first,
                                         const FlashView& view) {
  constexpr int kChunk = 8;
  constexpr int kChunks = kD / kChunk;
  constexpr int kPassRows = kThreads / kChunks;
  static_assert(kThreads % kChunks == 0 && kRows % kPassRows == 0);
  const int row = static_cast<int>(threadIdx.x) / kChunks;
  const int column = static_cast<int>(threadIdx.x) % kChunks * kChunk;
  // Rows that exist from `row` on; 0 beyond the head.
  const int rows = column < view.head_size ? view.length - first - row : 0;
  const T* source = from.Row(first + row) + column;
  T* target = tile + row * kTileStride<kD> + column;
#pragma unroll
  for (int pass = 0; pass < kRows; pass += kPassRows) {
    const bool exists = pass < rows;
    CopyAsync(target + pass * kTileStride<kD>, exists ? source + pass * from.stride : from.first,
              exists);
  }
}

// Loads the A operand: rows [row, row + 16), columns [k, k + 16) of a tile.
template <int kD, typename T>
__device__ __forceinline__ void LoadA(FragmentA& a, const T* tile, int row, int k) {
  LoadTiles(a, tile + (row + Lane() % 16) * kTileStride<kD> + k + Lane() / 16 * 8);
}

// Loads the B operands of two adjacent products. Rows of the tile are columns of B: n in [row, row
// + 16), k in [k, k + 16).
template <int kD, typename T>
__device__ __forceinline__ void LoadB(uint32_t (&b)[4], const T* tile, int row, int k) {
  LoadTiles(b,
            tile + (row + Lane() / 16 * 8 + Lane() % 8) * kTileStride<kD> + k + Lane() / 8 % 2 * 8);
}

// The same where rows of the tile are rows of B: k in [row, row + 16), n in [column, column + 16).
template <int kD, typename T>
__device__ __forceinline__ void LoadBTransposed(uint32_t (&b)[4], const T* tile, int row,
                                                int column) {
  LoadTilesTransposed(b, tile + (row + Lane() % 16) * kTileStride<kD> + column + Lane() / 16 * 8);
}

template <int kTiles>
__device__ __forceinline__ void Clear(FragmentC (&c)[kTiles]) {
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) c[n][e] = 0;
  }
}

// c += A B^T: A's fragments over kD columns, B a tile whose rows [0, 8 * kTiles) are c's columns.
template <int kD, int kTiles, typename T>
__device__ __forceinline__ void MultiplyByRows(FragmentC (&c)[kTiles],
                                               const FragmentA (&a)[kD / 16], const T* b_tile) {
#pragma unroll
  for (int k = 0; k < kD / 16; ++k) {
#pragma unroll
    for (int n = 0; n < kTiles; n += 2) {
      uint32_t b[4];
      LoadB<kD>(b, b_tile, n * 8, k * 16);
      MultiplyTile<T>(c[n], a[k], b[0], b[1]);
      MultiplyTile<T>(c[n + 1], a[k], b[2], b[3]);
    }
  }
}

// The same with A read from rows [row, row + 16) of a tile as it is needed.
template <int kD, int kTiles, typename T>
__device__ __forceinline__ void MultiplyByRows(FragmentC (&c)[kTiles], const T* a_tile, int row,
                                               const T* b_tile) {
#pragma unroll
  for (int k = 0; k < kD / 16; ++k) {
    FragmentA a;
    LoadA<kD>(a, a_tile, row, k * 16);
#pragma unroll
    for (int n = 0; n < kTiles; n += 2) {
      uint32_t b[4];
      LoadB<kD>(b, b_tile, n * 8, k * 16);
      MultiplyTile<T>(c[n], a, b[0], b[1]);
      MultiplyTile<T>(c[n + 1], a, b[2], b[3]);
    }
  }
}

// c (16, kD) += A B: A over 16 * kDepth columns, B the first rows of a tile.
template <int kD, int kDepth, typename T>
__device__ __forceinline__ void MultiplyByColumns(FragmentC (&c)[kD / 8],
                                                  const FragmentA (&a)[kDepth], const T* b_tile) {
#pragma unroll
  for (int k = 0; k < kDepth; ++k) {
#pragma unroll
    for (int n = 0; n < kD / 8; n += 2) {
      uint32_t b[4];
      LoadBTransposed<kD>(b, b_tile, k * 16, n * 8);
      MultiplyTile<T>(c[n], a[k], b[0], b[1]);
      MultiplyTile<T>(c[n + 1], a[k], b[2], b[3]);
    }
  }
}

// Rounds the result of a product into the A operand of the next one. Each thread already owns the
// elements that it needs.
template <typename T, int kTiles>
__device__ __forceinline__ void RoundToA(FragmentA (&a)[kTiles / 2], const FragmentC (&c)[kTiles]) {
#pragma unroll
  for (int k = 0; k < kTiles / 2; ++k) {
    a[k][0] = PackPair(c[2 * k][0], c[2 * k][1], T());
    a[k][1] = PackPair(c[2 * k][2], c[2 * k][3], T());
    a[k][2] = PackPair(c[2 * k + 1][0], c[2 * k + 1][1], T());
    a[k][3] = PackPair(c[2 * k + 1][2], c[2 * k + 1][3], T());
  }
}

// Stores rows [row, row + 16) of a result that exist, times one factor for each half of them.
template <int kD, typename T>
__device__ __forceinline__ void StoreRows(const HeadRows<T>& to, int row,
                                          const FragmentC (&c)[kD / 8], float low, float high,
                                          const FlashView& view) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int t = row + Group() + 8 * half;
    if (t >= view.length) continue;
    const float factor = half == 0 ? low : high;
#pragma unroll
    for (int n = 0; n < kD / 8; ++n) {
      const int column = n * 8 + Member() * 2;
      if (column >= view.head_size) continue;
      StoreFloats<2>(to.Row(t) + column,
                     Floats<2>{{c[n][2 * half] * factor, c[n][2 * half + 1] * factor}});
    }
  }
}

#endif

}  // namespace gp::engine
