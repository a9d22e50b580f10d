// One warp per row, which keeps the row in shared memory between its passes over it. Each lane
// reads back only what it wrote, so no barrier is needed, and rows of any length take the same
// path.
//
// Memory traffic in bytes per element. LayerNorm: reads the fp32 residual stream (4), writes bf16
// (2). With the residual addition: reads the stream and the branch (4 + 2), writes the stream and
// the output (4 + 2).
#include <algorithm>

#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/dropout_mask.cuh"
#include "worker/engine/backend/cuda/kernels/layer_norm.h"
#include "worker/engine/backend/cuda/kernels/shared_memory.cuh"
#include "worker/engine/backend/cuda/kernels/vector_access.cuh"
#include "worker/engine/backend/cuda/kernels/warp_rows.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

// With rows of 768 channels, 8 warps use 24 KiB. Registers, not shared memory, limit the blocks of
// an sm_90 multiprocessor: each lane holds a whole row's vectors while they arrive. Longer rows
// have fewer warps per block.
constexpr int kMostWarps = 8;
constexpr int kBlocksPerMultiprocessor = 4;
constexpr float kEpsilon = 1e-5f;

template <typename R, typename T>
struct Rows {
  int64_t rows;
  int64_t channels;
  const R* in;
  T* out;
  float* mean;
  float* rstd;
  const float* gamma;
  const float* beta;
  // Used when `branch` is added to the residual stream first.
  R* residual;
  const T* branch;
  DropoutMask mask;
};

// Returns a vector of the row to normalise. If kAdds, first adds the branch and stores the sum as
// residual.
template <int kLanes, bool kAdds, typename R, typename T>
__device__ __forceinline__ Floats<kLanes> ValuesOf(const Rows<R, T>& args,
                                                   const DropoutMaskRow& mask, int64_t offset,
                                                   int column, const Packed<R, kLanes>& in,
                                                   const Packed<T, kLanes>& branch) {
  Floats<kLanes> values = Unpack(in);
  if constexpr (kAdds) {
    Floats<kLanes> added = Unpack(branch);
    if (args.mask.active) ApplyMask(mask, column, added);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) values.lane[i] += added.lane[i];
    StoreFloats<kLanes>(args.residual + offset + column, values);
    values = AsStored<R>(values);
  }
  return values;
}

// Writes the row to normalise to shared memory. Returns the sum of this lane's columns.
template <int kLanes, bool kAdds, typename R, typename T>
__device__ __forceinline__ float ReadRow(const Rows<R, T>& args, int64_t row, int first,
                                         float* shared_row) {
  const int channels = static_cast<int>(args.channels);
  const int64_t offset = row * channels;
  const DropoutMaskRow mask = RowOf(args.mask, row);
  // Two rows of fp32 would need more registers than there are.
  constexpr int kVectors = kAdds && sizeof(T) == 4 ? kHalfRowVectors<kLanes> : kRowVectors<kLanes>;
  float sum = 0;
  for (int column = first; column < channels;) {
    RowBatch<kLanes, kVectors, R> ins;
    RowBatch<kLanes, kVectors, T> branches;
    ins.Load(args.in + offset, column, channels);
    if constexpr (kAdds) branches.Load(args.branch + offset, column, channels);
    ins.ForEach(column, channels, [&](int c, int vector) {
      const Floats<kLanes> values = ValuesOf<kLanes, kAdds>(
          args, mask, offset, c, ins.vectors[vector], branches.vectors[vector]);
#pragma unroll
      for (int i = 0; i < kLanes; ++i) sum += values.lane[i];
      StoreFloats<kLanes>(shared_row + c, values);
    });
    column += ins.kColumns;
  }
  return sum;
}

// Computes `out` from the row in shared memory.
template <int kLanes, typename R, typename T>
__device__ __forceinline__ void WriteRow(const Rows<R, T>& args, int64_t row, int first,
                                         const float* shared_row, float mean, float rstd) {
  const int channels = static_cast<int>(args.channels);
  T* out = args.out + row * channels;
#pragma unroll 2
  for (int c = first; c < channels; c += kWarpSize * kLanes) {
    Floats<kLanes> values = LoadFloats<kLanes>(shared_row + c);
    const Floats<kLanes> gamma = LoadConstants<kLanes>(args.gamma + c);
    Floats<kLanes> beta = {};
    if (args.beta != nullptr) beta = LoadConstants<kLanes>(args.beta + c);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      values.lane[i] = (values.lane[i] - mean) * rstd * gamma.lane[i] + beta.lane[i];
    }
    StoreFloats<kLanes>(out + c, values);
  }
}

template <int kLanes, bool kAdds, typename R, typename T>
__global__ void __launch_bounds__(kMostWarps* kWarpSize, kBlocksPerMultiprocessor)
    LayerNormKernel(const Rows<R, T> args) {
  AwaitPrevious();
  GP_DYNAMIC_SHARED(float, shared_rows);
  const WarpRow<kLanes> at;
  if (at.row >= args.rows) return;
  const int channels = static_cast<int>(args.channels);
  float* shared_row = shared_rows + at.warp * channels;

  const float sum = ReadRow<kLanes, kAdds>(args, at.row, at.first, shared_row);
  const float mean = WarpSum(sum) / static_cast<float>(channels);
  float squares = 0;
  for (int c = at.first; c < channels; c += kWarpSize * kLanes) {
    const Floats<kLanes> values = LoadFloats<kLanes>(shared_row + c);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      const float centred = values.lane[i] - mean;
      squares += centred * centred;
    }
  }
  const float rstd = rsqrtf(WarpSum(squares) / static_cast<float>(channels) + kEpsilon);
  WriteRow<kLanes>(args, at.row, at.first, shared_row, mean, rstd);
  if (at.first == 0) {
    args.mean[at.row] = mean;
    args.rstd[at.row] = rstd;
  }
}

// Warps of a block, so that their rows fit into the shared memory that every device has.
int WarpsFor(int64_t channels) {
  const int64_t fitting = static_cast<int64_t>(kDefaultSharedBytes) / (channels * 4);
  return static_cast<int>(std::clamp<int64_t>(fitting, 1, kMostWarps));
}

template <bool kAdds, typename R, typename T>
void LaunchRows(const Rows<R, T>& rows, cudaStream_t stream) {
  if (rows.rows == 0) return;
  const int warps = WarpsFor(rows.channels);
  const size_t shared_bytes = static_cast<size_t>(warps * rows.channels) * sizeof(float);
  WithLanes<sizeof(R)>(rows.channels, [&](auto lanes) {
    Launch(&LayerNormKernel<decltype(lanes)::value, kAdds, R, T>, BlocksFor(rows.rows, warps),
           static_cast<unsigned int>(warps * kWarpSize), shared_bytes, stream, rows);
  });
}

template <typename R, typename T>
Rows<R, T> RowsOf(const LayerNorm& args, Buffer in) {
  return {.rows = args.rows,
          .channels = args.channels,
          .in = static_cast<const R*>(in.data),
          .out = static_cast<T*>(args.out.data),
          .mean = args.mean,
          .rstd = args.rstd,
          .gamma = args.gamma,
          .beta = args.beta,
          .residual = nullptr,
          .branch = nullptr,
          .mask = {}};
}

}  // namespace

void LaunchLayerNorm(const LayerNorm& args, cudaStream_t stream) {
  WithElementTypes(args.in.type, args.out.type, [&](auto r, auto t) {
    LaunchRows<false>(RowsOf<decltype(r), decltype(t)>(args, args.in), stream);
  });
}

void LaunchResidualLayerNorm(const ResidualLayerNormArgs& args, cudaStream_t stream) {
  WithElementTypes(args.in.type, args.branch.type, [&](auto r, auto t) {
    using R = decltype(r);
    using T = decltype(t);
    Rows<R, T> rows = RowsOf<R, T>(args.norm, args.in);
    rows.residual = static_cast<R*>(args.residual.data);
    rows.branch = static_cast<const T*>(args.branch.data);
    rows.mask = MaskOf(args.dropout);
    LaunchRows<true>(rows, stream);
  });
}

}  // namespace gp::engine
