// Memory traffic in bytes per element (fp32 residual stream, bf16 branch). Forward: reads the
// stream and the branch (4 + 2), writes the stream (4). Backward: reads dout (4), writes dbranch
// (2).
#include <algorithm>

#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/dropout_mask.cuh"
#include "worker/engine/backend/cuda/kernels/residual.h"
#include "worker/engine/backend/cuda/kernels/vector_access.cuh"
#include "worker/engine/backend/cuda/kernels/warp_rows.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarpSize;

template <int kLanes, typename R, typename T>
__global__ void __launch_bounds__(kThreads)
    ResidualKernel(int64_t rows, int64_t channels, R* out, const R* in, const T* branch,
                   const DropoutMask mask) {
  AwaitPrevious();
  const WarpRow<kLanes> at;
  if (at.row >= rows) return;
  const DropoutMaskRow row_mask = RowOf(mask, at.row);
  for (int64_t c = at.first; c < channels; c += at.kStride) {
    const int64_t i = at.row * channels + c;
    Floats<kLanes> values = LoadFloats<kLanes>(branch + i);
    const Floats<kLanes> base = LoadFloats<kLanes>(in + i);
    if (mask.active) ApplyMask(row_mask, c, values);
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) values.lane[lane] += base.lane[lane];
    StoreFloats<kLanes>(out + i, values);
  }
}

template <int kLanes, typename R, typename T>
__global__ void __launch_bounds__(kThreads)
    ResidualBackwardKernel(int64_t rows, int64_t channels, T* dbranch, const R* dout,
                           const DropoutMask mask) {
  AwaitPrevious();
  const WarpRow<kLanes> at;
  if (at.row >= rows) return;
  const DropoutMaskRow row_mask = RowOf(mask, at.row);
  for (int64_t c = at.first; c < channels; c += at.kStride) {
    const int64_t i = at.row * channels + c;
    Floats<kLanes> values = LoadFloats<kLanes>(dout + i);
    if (mask.active) ApplyMask(row_mask, c, values);
    StoreFloats<kLanes>(dbranch + i, values);
  }
}

}  // namespace

void LaunchResidual(const ResidualArgs& args, cudaStream_t stream) {
  if (args.rows == 0) return;
  WithElementTypes(args.in.type, args.branch.type, [&](auto r, auto t) {
    using R = decltype(r);
    using T = decltype(t);
    WithLanes<sizeof(R)>(args.channels, [&](auto lanes) {
      Launch(&ResidualKernel<decltype(lanes)::value, R, T>, BlocksFor(args.rows, kWarps), kThreads,
             0, stream, args.rows, args.channels, static_cast<R*>(args.out.data),
             static_cast<const R*>(args.in.data), static_cast<const T*>(args.branch.data),
             MaskOf(args.dropout));
    });
  });
}

void LaunchResidualBackward(const ResidualBackwardArgs& args, cudaStream_t stream) {
  if (args.rows == 0) return;
  WithElementTypes(args.dout.type, args.dbranch.type, [&](auto r, auto t) {
    using R = decltype(r);
    using T = decltype(t);
    WithLanes<sizeof(R)>(args.channels, [&](auto lanes) {
      Launch(&ResidualBackwardKernel<decltype(lanes)::value, R, T>, BlocksFor(args.rows, kWarps),
             kThreads, 0, stream, args.rows, args.channels, static_cast<T*>(args.dbranch.data),
             static_cast<const R*>(args.dout.data), MaskOf(args.dropout));
    });
  });
}

}  // namespace gp::engine
