// A block works through rounds of rows, one row per warp. A warp keeps xhat and dout of its row in
// shared memory between the sums and the gradient; then all threads of the block add up the columns
// of the round. Each block leaves one partial dgamma and dbeta; a second kernel adds those up.
//
// Bytes per element: 4 + 2 + 4 read and 4 written (fp32 residual stream that is added to, bf16
// dout), 2 more for dbranch.
#include <algorithm>
#include <stdexcept>

#include "worker/engine/backend/cuda/kernels/dropout_mask.cuh"
#include "worker/engine/backend/cuda/kernels/layer_norm_backward.h"
#include "worker/engine/backend/cuda/kernels/reduction.cuh"
#include "worker/engine/backend/cuda/kernels/shared_memory.cuh"
#include "worker/engine/backend/cuda/kernels/vector_access.cuh"
#include "worker/engine/backend/cuda/launch.h"

namespace gp::engine {
namespace {

constexpr int kMostWarps = 8;
// Of one block. Every device has as much; with 768 channels 8 warps take 54 KiB, so that an sm_90
// multiprocessor holds 4 blocks.
constexpr int64_t kSharedBytes = int64_t{64} << 10;
// Blocks that each leave a partial sum: nearly one wave of an H100 (132 multiprocessors).
constexpr int64_t kMostParts = 512;

// Floats of shared memory: xhat and dout of a row per warp, dgamma and dbeta of the block.
constexpr int64_t SharedFloats(int warps, int64_t channels) { return (2 * warps + 2) * channels; }

int WarpsFor(int64_t channels) {
  int warps = kMostWarps;
  while (warps > 1 && SharedFloats(warps, channels) * 4 > kSharedBytes) warps /= 2;
  return warps;
}

int64_t PartsFor(int64_t rows, int64_t channels) {
  const int64_t warps = WarpsFor(channels);
  return std::min((rows + warps - 1) / warps, kMostParts);
}

template <typename R, typename T>
struct Rows {
  int64_t rows;
  int64_t channels;
  R* din;
  const T* dout;
  const R* in;
  const float* mean;
  const float* rstd;
  const float* gamma;
  bool accumulate;
  T* dbranch;  // or absent
  DropoutMask mask;
};

// What a warp keeps of its row.
struct RowCache {
  float* xhat;
  float* dout;
};

struct RowMeans {
  float d;
  float product;
};

// Fills the cache; the means of d and of d * xhat.
template <int kLanes, typename R, typename T>
__device__ RowMeans ReadRow(const Rows<R, T>& args, int64_t row, int64_t first, RowCache cache) {
  const float mean = args.mean[row];
  const float rstd = args.rstd[row];
  const int64_t offset = row * args.channels;
  float sum = 0;
  float product_sum = 0;
  for (int64_t c = first; c < args.channels; c += int64_t{kWarpSize} * kLanes) {
    const Floats<kLanes> dout = LoadFloats<kLanes>(args.dout + offset + c);
    Floats<kLanes> xhat = LoadFloats<kLanes>(args.in + offset + c);
    const Floats<kLanes> gamma = LoadFloats<kLanes>(args.gamma + c);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      xhat.lane[i] = (xhat.lane[i] - mean) * rstd;
      const float d = dout.lane[i] * gamma.lane[i];
      sum += d;
      product_sum += d * xhat.lane[i];
    }
    StoreFloats<kLanes>(cache.xhat + c, xhat);
    StoreFloats<kLanes>(cache.dout + c, dout);
  }
  const auto channels = static_cast<float>(args.channels);
  return {WarpSum(sum) / channels, WarpSum(product_sum) / channels};
}

// din, and dbranch, of a row in the cache.
template <int kLanes, typename R, typename T>
__device__ void WriteRow(const Rows<R, T>& args, int64_t row, int64_t first, RowCache cache,
                         RowMeans means) {
  const float rstd = args.rstd[row];
  const int64_t offset = row * args.channels;
  const DropoutMaskRow mask = RowOf(args.mask, row);
  for (int64_t c = first; c < args.channels; c += int64_t{kWarpSize} * kLanes) {
    const Floats<kLanes> xhat = LoadFloats<kLanes>(cache.xhat + c);
    const Floats<kLanes> dout = LoadFloats<kLanes>(cache.dout + c);
    const Floats<kLanes> gamma = LoadFloats<kLanes>(args.gamma + c);
    Floats<kLanes> din = {};
    if (args.accumulate) din = LoadFloats<kLanes>(args.din + offset + c);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      const float d = dout.lane[i] * gamma.lane[i];
      din.lane[i] += (d - means.d - xhat.lane[i] * means.product) * rstd;
    }
    StoreFloats<kLanes>(args.din + offset + c, din);
    if (args.dbranch != nullptr) {
      din = AsStored<R>(din);
      if (args.mask.active) ApplyMask(mask, c, din);
      StoreFloats<kLanes>(args.dbranch + offset + c, din);
    }
  }
}

template <int kLanes>
__device__ void ClearRow(int64_t channels, int64_t first, RowCache cache) {
  for (int64_t c = first; c < channels; c += int64_t{kWarpSize} * kLanes) {
    StoreFloats<kLanes>(cache.xhat + c, Floats<kLanes>{});
    StoreFloats<kLanes>(cache.dout + c, Floats<kLanes>{});
  }
}

// partials (blocks, 2, channels): dgamma and dbeta of the rows of a block.
template <int kLanes, typename R, typename T>
__global__ void __launch_bounds__(kMostWarps* kWarpSize)
    LayerNormBackwardKernel(const Rows<R, T> args, float* partials) {
  GP_DYNAMIC_SHARED(float, shared);
  const int warps = static_cast<int>(blockDim.x) / kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const int64_t first = static_cast<int64_t>(threadIdx.x) % kWarpSize * kLanes;
  const int64_t channels = args.channels;
  const RowCache cache{shared + warp * channels, shared + (warps + warp) * channels};
  float* dgamma = shared + 2 * warps * channels;
  float* dbeta = dgamma + channels;

  for (int64_t c = threadIdx.x; c < 2 * channels; c += blockDim.x) dgamma[c] = 0;
  for (int64_t round = blockIdx.x; round * warps < args.rows; round += gridDim.x) {
    const int64_t row = round * warps + warp;
    if (row < args.rows) {
      const RowMeans means = ReadRow<kLanes>(args, row, first, cache);
      WriteRow<kLanes>(args, row, first, cache, means);
    } else {
      ClearRow<kLanes>(channels, first, cache);
    }
    __syncthreads();
    for (int64_t c = threadIdx.x; c < channels; c += blockDim.x) {
      float product = 0;
      float sum = 0;
      for (int w = 0; w < warps; ++w) {
        const float d = shared[(warps + w) * channels + c];
        product += d * shared[w * channels + c];
        sum += d;
      }
      dgamma[c] += product;
      dbeta[c] += sum;
    }
    __syncthreads();
  }
  for (int64_t c = threadIdx.x; c < 2 * channels; c += blockDim.x) {
    partials[blockIdx.x * 2 * channels + c] = dgamma[c];
  }
}

// Adds up the partials of 32 columns: each warp every 16th of them, then the warps in order.
constexpr int kPartWarps = 16;
__global__ void __launch_bounds__(kPartWarps* kWarpSize)
    AddPartsKernel(int64_t channels, int64_t parts, const float* partials, float* dgamma,
                   float* dbeta, bool accumulate) {
  GP_SHARED(float, sums, [kPartWarps][kWarpSize]);
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const int64_t c = int64_t{blockIdx.x} * kWarpSize + lane;
  float sum = 0;
  if (c < 2 * channels) {
    for (int64_t part = warp; part < parts; part += kPartWarps) {
      sum += partials[part * 2 * channels + c];
    }
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || c >= 2 * channels) return;
  float total = 0;
#pragma unroll
  for (int w = 0; w < kPartWarps; ++w) total += sums[w][lane];
  float* to = c < channels ? dgamma : dbeta;
  if (to == nullptr) return;
  const int64_t column = c < channels ? c : c - channels;
  to[column] = accumulate ? to[column] + total : total;
}

template <typename R, typename T>
Rows<R, T> RowsOf(const LayerNormBackwardArgs& args) {
  const LayerNormBackward& norm = args.norm;
  return {.rows = norm.rows,
          .channels = norm.channels,
          .din = static_cast<R*>(norm.din.data),
          .dout = static_cast<const T*>(norm.dout.data),
          .in = static_cast<const R*>(norm.in.data),
          .mean = norm.mean,
          .rstd = norm.rstd,
          .gamma = norm.gamma,
          .accumulate = norm.accumulate_input,
          .dbranch = static_cast<T*>(args.dbranch.data),
          .mask = MaskOf(args.dropout)};
}

template <typename R, typename T>
void LaunchRows(const Rows<R, T>& rows, float* partials, cudaStream_t stream) {
  const int warps = WarpsFor(rows.channels);
  const auto shared_bytes = static_cast<size_t>(SharedFloats(warps, rows.channels)) * sizeof(float);
  WithLanes<sizeof(R)>(rows.channels, [&](auto lanes) {
    Launch(&LayerNormBackwardKernel<decltype(lanes)::value, R, T>,
           static_cast<unsigned int>(PartsFor(rows.rows, rows.channels)),
           static_cast<unsigned int>(warps * kWarpSize), shared_bytes, stream, rows, partials);
  });
}

}  // namespace

int64_t LayerNormBackwardScratch(int64_t rows, int64_t channels) {
  return PartsFor(rows, channels) * 2 * channels;
}

void LaunchLayerNormBackward(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  const LayerNormBackward& norm = args.norm;
  if (norm.rows == 0) return;
  if (SharedFloats(1, norm.channels) * 4 > kSharedBytes) {
    throw std::invalid_argument("LayerNorm's gradient has at most 4096 channels on a GPU, not " +
                                std::to_string(norm.channels));
  }
  WithElementTypes(norm.in.type, norm.dout.type, [&](auto r, auto t) {
    LaunchRows(RowsOf<decltype(r), decltype(t)>(args), args.scratch, stream);
  });
  Launch(&AddPartsKernel, BlocksFor(2 * norm.channels, kWarpSize), kPartWarps * kWarpSize, 0,
         stream, norm.channels, PartsFor(norm.rows, norm.channels), args.scratch, norm.dgamma,
         norm.dbeta, norm.accumulate_parameters);
}

}  // namespace gp::engine
