// One warp per row, the row in shared memory between the passes over it: each lane reads back only
// what it wrote, so no barrier is needed, and rows of any length take the same path.
//
// Bytes per element: LayerNorm 4 + 2 (fp32 residual stream, bf16 out); with the addition in front
// 4 + 2 read, 4 + 2 written.
#include <algorithm>

#include "worker/engine/backend/cuda/kernels/dropout_mask.cuh"
#include "worker/engine/backend/cuda/kernels/layer_norm.h"
#include "worker/engine/backend/cuda/kernels/shared_memory.cuh"
#include "worker/engine/backend/cuda/kernels/vector_access.cuh"
#include "worker/engine/backend/cuda/kernels/warp_rows.cuh"
#include "worker/engine/backend/cuda/launch.h"

namespace gp::engine {
namespace {

// With rows of 768 channels, 8 warps use 24 KiB: 8 blocks and so all 64 warps of an sm_90
// multiprocessor. Longer rows have fewer warps per block.
constexpr int kMostWarps = 8;
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
  // of the addition, if there is one
  R* residual;
  const T* branch;
  DropoutMask mask;
};

// What the row to normalise has at `column`; stores the residual, if there is an addition.
template <int kLanes, bool kAdds, typename R, typename T>
__device__ Floats<kLanes> ReadValues(const Rows<R, T>& args, const DropoutMaskRow& mask,
                                     int64_t offset, int64_t column) {
  Floats<kLanes> values = LoadFloats<kLanes>(args.in + offset + column);
  if constexpr (kAdds) {
    Floats<kLanes> added = LoadFloats<kLanes>(args.branch + offset + column);
    if (args.mask.active) ApplyMask(mask, column, added);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) values.lane[i] += added.lane[i];
    StoreFloats<kLanes>(args.residual + offset + column, values);
    values = AsStored<R>(values);
  }
  return values;
}

template <int kLanes, bool kAdds, typename R, typename T>
__global__ void __launch_bounds__(kMostWarps* kWarpSize) LayerNormKernel(const Rows<R, T> args) {
  GP_DYNAMIC_SHARED(float, shared_rows);
  const WarpRow<kLanes> at;
  if (at.row >= args.rows) return;
  const int64_t channels = args.channels;
  const int64_t offset = at.row * channels;
  float* shared_row = shared_rows + at.warp * channels;

  const DropoutMaskRow mask = RowOf(args.mask, at.row);
  float sum = 0;
  for (int64_t c = at.first; c < channels; c += at.kStride) {
    const Floats<kLanes> values = ReadValues<kLanes, kAdds>(args, mask, offset, c);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) sum += values.lane[i];
    StoreFloats<kLanes>(shared_row + c, values);
  }
  const float mean = WarpSum(sum) / static_cast<float>(channels);
  float squares = 0;
  for (int64_t c = at.first; c < channels; c += at.kStride) {
    const Floats<kLanes> values = LoadFloats<kLanes>(shared_row + c);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      const float centred = values.lane[i] - mean;
      squares += centred * centred;
    }
  }
  const float rstd = rsqrtf(WarpSum(squares) / static_cast<float>(channels) + kEpsilon);
  for (int64_t c = at.first; c < channels; c += at.kStride) {
    Floats<kLanes> values = LoadFloats<kLanes>(shared_row + c);
    const Floats<kLanes> gamma = LoadFloats<kLanes>(args.gamma + c);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      values.lane[i] = (values.lane[i] - mean) * rstd * gamma.lane[i];
    }
    if (args.beta != nullptr) {
      const Floats<kLanes> beta = LoadFloats<kLanes>(args.beta + c);
#pragma unroll
      for (int i = 0; i < kLanes; ++i) values.lane[i] += beta.lane[i];
    }
    StoreFloats<kLanes>(args.out + offset + c, values);
  }
  if (at.first == 0) {
    args.mean[at.row] = mean;
    args.rstd[at.row] = rstd;
  }
}

// Warps of a block whose rows fit into what every device gives.
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
