#include <algorithm>
#include <cfloat>

#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/fp8.cuh"
#include "worker/engine/backend/cuda/kernels/fp8.h"
#include "worker/engine/backend/cuda/kernels/reduction.cuh"
#include "worker/engine/backend/cuda/kernels/vector_access.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaximumBlocks = 1056;  // eight for each multiprocessor of an H100 or H200
constexpr int kSide = 64;                 // rows and columns of a tile
constexpr int kVector = 8;                // elements that a thread moves at a time
constexpr int kColumnThreads = kSide / kVector;
constexpr int kPassRows = kThreads / kColumnThreads;
// Bytes from row to row of a transposed tile: 4 more than a row, which halves the bank conflicts.
constexpr int kTileStride = kSide + 4;

// The bits of |value|. As integers they have the order of the magnitudes, with NaNs above all.
__device__ __forceinline__ unsigned int MagnitudeBits(float value) {
  return __float_as_uint(value) & 0x7fffffffu;
}

template <int kCount, typename T>
__device__ __forceinline__ unsigned int LargestAt(const T* in) {
  const auto values = LoadFloats<kCount>(in);
  unsigned int largest = 0;
#pragma unroll
  for (int i = 0; i < kCount; ++i) largest = max(largest, MagnitudeBits(values.lane[i]));
  return largest;
}

// Reads the tensor once.
template <int kCount, typename T>
__global__ void __launch_bounds__(kThreads)
    AbsoluteMaximumKernel(unsigned int* maximum, const T* in, int64_t count) {
  AwaitPrevious();
  GP_SHARED(unsigned int, scratch, [kThreads / kWarpSize]);
  unsigned int largest = 0;
  int64_t i = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * kCount;
  const int64_t stride = int64_t{gridDim.x} * kThreads * kCount;
#pragma unroll 4
  for (; i + kCount <= count; i += stride) largest = max(largest, LargestAt<kCount>(in + i));
  for (; i < count; ++i) largest = max(largest, LargestAt<1>(in + i));
  largest = BlockMax<kThreads>(largest, scratch);
  if (threadIdx.x == 0) atomicMax(maximum, largest);
}

template <Fp8Format kFormat>
__device__ __forceinline__ float ScaleOf(float maximum) {
  const float scale = Fp8Layout<kFormat>::kLargest / maximum;
  return scale > FLT_MAX ? 1.0f : scale;
}

template <typename T>
struct Matrix {
  int64_t rows;
  int64_t columns;
  const T* in;
  uint8_t* out;
  uint8_t* transposed;  // or null
};

struct alignas(kVector) Codes {
  uint8_t code[kVector];
};

// Stores a vector of codes: all of it if kWhole, otherwise only its first `count` codes.
template <bool kWhole>
__device__ __forceinline__ void StoreCodes(uint8_t* to, const Codes& codes, int64_t count) {
  if constexpr (kWhole) {
    *reinterpret_cast<Codes*>(to) = codes;
  } else {
    for (int i = 0; i < kVector && i < count; ++i) to[i] = codes.code[i];
  }
}

template <bool kWhole, typename T>
__device__ __forceinline__ Floats<kVector> LoadValues(const T* from, int64_t count) {
  if constexpr (kWhole) {
    return LoadFloats<kVector>(from);
  } else {
    Floats<kVector> values = {};
    for (int i = 0; i < kVector && i < count; ++i) values.lane[i] = ToFloat(from[i]);
    return values;
  }
}

// kWhole: rows and columns are multiples of kVector and everything is aligned. Memory traffic in
// bytes per element: reads 2 (bf16), writes 1, or 2 with the transposed copy.
template <Fp8Format kFormat, bool kWhole, typename T>
__global__ void __launch_bounds__(kThreads)
    QuantizeKernel(Matrix<T> m, const float* maximum, float* inverse_scale) {
  AwaitPrevious();
  GP_SHARED(uint8_t, tile, [kSide * kTileStride]);  // transposed
  const float scale = ScaleOf<kFormat>(*maximum);
  const int64_t first_row = int64_t{blockIdx.y} * kSide;
  const int64_t first_column = int64_t{blockIdx.x} * kSide;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *inverse_scale = 1.0f / scale;
  const int across = static_cast<int>(threadIdx.x) % kColumnThreads * kVector;
  const int down = static_cast<int>(threadIdx.x) / kColumnThreads;
#pragma unroll
  for (int r = down; r < kSide; r += kPassRows) {
    const int64_t row = first_row + r;
    const int64_t column = first_column + across;
    if (row >= m.rows || column >= m.columns) continue;
    const int64_t at = row * m.columns + column;
    const auto values = LoadValues<kWhole>(m.in + at, m.columns - column);
    Codes codes;
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      codes.code[i] = ToFp8<kFormat>(values.lane[i] * scale);
      tile[(across + i) * kTileStride + r] = codes.code[i];
    }
    StoreCodes<kWhole>(m.out + at, codes, m.columns - column);
  }
  if (m.transposed == nullptr) return;
  __syncthreads();
#pragma unroll
  for (int c = down; c < kSide; c += kPassRows) {
    const int64_t column = first_column + c;
    const int64_t row = first_row + across;
    if (row >= m.rows || column >= m.columns) continue;
    Codes codes;
#pragma unroll
    for (int i = 0; i < kVector; ++i) codes.code[i] = tile[c * kTileStride + across + i];
    StoreCodes<kWhole>(m.transposed + column * m.rows + row, codes, m.rows - row);
  }
}

template <Fp8Format kFormat, typename T>
void LaunchTyped(const Fp8Quantization& args, cudaStream_t stream) {
  const Matrix<T> m{args.rows, args.columns, static_cast<const T*>(args.in.data), args.out,
                    args.transposed};
  const bool whole = args.rows % kVector == 0 && args.columns % kVector == 0 &&
                     AlignedTo(m.in, 16) && AlignedTo(m.out, kVector) &&
                     AlignedTo(m.transposed, kVector);
  Launch(whole ? QuantizeKernel<kFormat, true, T> : QuantizeKernel<kFormat, false, T>,
         dim3(BlocksFor(args.columns, kSide), BlocksFor(args.rows, kSide)), kThreads, 0, stream, m,
         args.maximum, args.inverse_scale);
}

}  // namespace

void LaunchAbsoluteMaximum(float* maximum, Buffer in, int64_t count, cudaStream_t stream) {
  CheckCuda(cudaMemsetAsync(maximum, 0, sizeof(*maximum), stream), "cudaMemsetAsync of a maximum");
  if (count == 0) return;
  WithElementType(in.type, [&](auto element) {
    using T = decltype(element);
    constexpr int kWide = 16 / sizeof(T);
    const bool aligned = AlignedTo(in.data, 16);
    const int64_t blocks = (count + kThreads * kWide - 1) / (kThreads * kWide);
    Launch(aligned ? AbsoluteMaximumKernel<kWide, T> : AbsoluteMaximumKernel<1, T>,
           static_cast<unsigned int>(std::min(blocks, kMaximumBlocks)), kThreads, 0, stream,
           reinterpret_cast<unsigned int*>(maximum), static_cast<const T*>(in.data), count);
  });
}

void LaunchFp8Quantization(const Fp8Quantization& args, cudaStream_t stream) {
  WithElementType(args.in.type, [&](auto element) {
    using T = decltype(element);
    args.format == Fp8Format::kE4m3 ? LaunchTyped<Fp8Format::kE4m3, T>(args, stream)
                                    : LaunchTyped<Fp8Format::kE5m2, T>(args, stream);
  });
}

}  // namespace gp::engine
