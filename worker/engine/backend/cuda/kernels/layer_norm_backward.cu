// A block works through rounds of rows, one row per warp. A warp keeps xhat, dout and dbranch of
// its row in shared memory; then all threads of the block add up the columns of the round. Each
// block leaves one partial dgamma, dbeta and dbias; a second kernel adds those up.
//
// Memory traffic in bytes per element: reads in, dout and din (4 + 2 + 4; fp32 residual stream,
// bf16 dout, din accumulated), writes din (4), and dbranch if present (2).
#include <algorithm>
#include <stdexcept>

#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/column_sums.h"
#include "worker/engine/backend/cuda/kernels/dropout_mask.cuh"
#include "worker/engine/backend/cuda/kernels/layer_norm_backward.h"
#include "worker/engine/backend/cuda/kernels/reduction.cuh"
#include "worker/engine/backend/cuda/kernels/shared_memory.cuh"
#include "worker/engine/backend/cuda/kernels/vector_access.cuh"
#include "worker/engine/backend/cuda/kernels/warp_rows.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

constexpr int kMostWarps = 8;
// With fewer warps than this, a block has too few rows in flight. Then the sums of dbranch are
// computed in a separate pass.
constexpr int kFewestWarps = 4;
// Shared memory that every device has for one block.
constexpr int64_t kSharedBytes = int64_t{64} << 10;
// Three blocks fit into an sm_90 multiprocessor: its registers allow three, and
// kSharedBytesWithBranch is a third of its shared memory.
constexpr int kBlocksPerMultiprocessor = 3;
constexpr int64_t kSharedBytesWithBranch = int64_t{72} << 10;
// Blocks that each leave a partial sum: one wave of an H100 (132 multiprocessors).
constexpr int64_t kMostParts = 132 * kBlocksPerMultiprocessor;

// Number of column sums: dgamma, dbeta and, with kSumsBranch, dbias.
template <bool kSumsBranch>
inline constexpr int kSums = kSumsBranch ? 3 : 2;

// Shared memory of a block: xhat of a row per warp and the sums of the block in fp32; after them
// dout, and with kSumsBranch dbranch, of a row per warp in their own type.
template <bool kSumsBranch>
constexpr int64_t SharedBytes(int64_t warps, int64_t channels, int64_t element_bytes) {
  const int64_t row_bytes = 4 + (kSumsBranch ? 2 : 1) * element_bytes;
  return channels * (warps * row_bytes + kSums<kSumsBranch> * 4);
}

template <bool kSumsBranch>
int WarpsFor(int64_t channels, int64_t element_bytes) {
  constexpr int64_t kMost = kSumsBranch ? kSharedBytesWithBranch : kSharedBytes;
  int warps = kMostWarps;
  while (warps > 1 && SharedBytes<kSumsBranch>(warps, channels, element_bytes) > kMost) warps /= 2;
  return warps;
}

int64_t PartsFor(int64_t rows, int64_t warps) {
  return std::min((rows + warps - 1) / warps, kMostParts);
}

// Whether the pass over the rows can also compute the column sums of dbranch.
bool SumsBranchInPass(int64_t channels, int64_t element_bytes, int64_t shared_bytes) {
  const int warps = WarpsFor<true>(channels, element_bytes);
  return warps >= kFewestWarps && SharedBytes<true>(warps, channels, element_bytes) <= shared_bytes;
}

template <typename R, typename T>
struct Rows {
  int64_t rows;
  int channels;
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

// A warp's copy of its row.
template <typename T>
struct RowCache {
  float* xhat;
  T* dout;
  T* dbranch;
};

// din is loaded first and takes the registers of a whole row while the means are computed. dout and
// the input share the other registers.
template <int kLanes, typename R>
using DinBatch = RowBatch<kLanes, kRowVectors<kLanes>, R>;

struct RowMeans {
  float d;
  float product;
};

// Fills the cache; returns the means of d and of d * xhat.
template <int kLanes, typename R, typename T>
__device__ __forceinline__ RowMeans ReadRow(const Rows<R, T>& args, int64_t row, int first,
                                            const RowCache<T>& cache) {
  const float mean = args.mean[row];
  const float rstd = args.rstd[row];
  const int64_t offset = row * args.channels;
  float sum = 0;
  float product_sum = 0;
  for (int column = first; column < args.channels;) {
    RowBatch<kLanes, kHalfRowVectors<kLanes>, T> douts;
    RowBatch<kLanes, kHalfRowVectors<kLanes>, R> ins;
    douts.Load(args.dout + offset, column, args.channels);
    ins.Load(args.in + offset, column, args.channels);
    ins.ForEach(column, args.channels, [&](int c, int vector) {
      const Floats<kLanes> dout = Unpack(douts.vectors[vector]);
      Floats<kLanes> xhat = Unpack(ins.vectors[vector]);
      const Floats<kLanes> gamma = LoadConstants<kLanes>(args.gamma + c);
#pragma unroll
      for (int i = 0; i < kLanes; ++i) {
        xhat.lane[i] = (xhat.lane[i] - mean) * rstd;
        const float d = dout.lane[i] * gamma.lane[i];
        sum += d;
        product_sum += d * xhat.lane[i];
      }
      StoreFloats<kLanes>(cache.xhat + c, xhat);
      StorePacked(cache.dout + c, douts.vectors[vector]);
    });
    column += ins.kColumns;
  }
  const auto channels = static_cast<float>(args.channels);
  return {WarpSum(sum) / channels, WarpSum(product_sum) / channels};
}

// Writes din, and dbranch if present, of a row in the cache. `dins` holds the first batch of the
// old din.
template <int kLanes, bool kSumsBranch, typename R, typename T>
__device__ __forceinline__ void WriteRow(const Rows<R, T>& args, int64_t row, int first,
                                         const RowCache<T>& cache, const RowMeans& means,
                                         DinBatch<kLanes, R>& dins) {
  const float rstd = args.rstd[row];
  const int64_t offset = row * args.channels;
  const DropoutMaskRow mask = RowOf(args.mask, row);
  const auto write_branch = [&](int c, Floats<kLanes> din) {
    din = AsStored<R>(din);
    if (args.mask.active) ApplyMask(mask, c, din);
    StoreFloatsWhole<kLanes>(args.dbranch + offset + c, din);
    if constexpr (kSumsBranch) StoreFloats<kLanes>(cache.dbranch + c, din);
  };
  for (int column = first; column < args.channels;) {
    dins.ForEach(column, args.channels, [&](int c, int vector) {
      const Floats<kLanes> xhat = LoadFloats<kLanes>(cache.xhat + c);
      const Floats<kLanes> dout = LoadFloats<kLanes>(cache.dout + c);
      const Floats<kLanes> gamma = LoadConstants<kLanes>(args.gamma + c);
      Floats<kLanes> din = {};
      if (args.accumulate) din = Unpack(dins.vectors[vector]);
#pragma unroll
      for (int i = 0; i < kLanes; ++i) {
        const float d = dout.lane[i] * gamma.lane[i];
        din.lane[i] += (d - means.d - xhat.lane[i] * means.product) * rstd;
      }
      StoreFloatsWhole<kLanes>(args.din + offset + c, din);
      if (kSumsBranch || args.dbranch != nullptr) write_branch(c, din);
    });
    column += dins.kColumns;
    if (args.accumulate) dins.Load(args.din + offset, column, args.channels);
  }
}

template <int kLanes, bool kSumsBranch, typename T>
__device__ void ClearRow(int channels, int first, const RowCache<T>& cache) {
  for (int c = first; c < channels; c += kWarpSize * kLanes) {
    StoreFloats<kLanes>(cache.xhat + c, Floats<kLanes>{});
    StoreFloats<kLanes>(cache.dout + c, Floats<kLanes>{});
    if constexpr (kSumsBranch) StoreFloats<kLanes>(cache.dbranch + c, Floats<kLanes>{});
  }
}

// sums (kSums, channels) += the rows in the caches of the block's warps, which are consecutive from
// `cache` on.
template <bool kSumsBranch, typename T>
__device__ __forceinline__ void AddColumns(int warps, int channels, const RowCache<T>& cache,
                                           float* sums) {
  for (int c = static_cast<int>(threadIdx.x); c < channels; c += static_cast<int>(blockDim.x)) {
    float product = 0;
    float sum = 0;
    float branch = 0;
    for (int w = 0; w < warps; ++w) {
      const float d = ToFloat(cache.dout[w * channels + c]);
      product += d * cache.xhat[w * channels + c];
      sum += d;
      if constexpr (kSumsBranch) branch += ToFloat(cache.dbranch[w * channels + c]);
    }
    sums[c] += product;
    sums[channels + c] += sum;
    if constexpr (kSumsBranch) sums[2 * channels + c] += branch;
  }
}

// partials (blocks, kSums, channels): dgamma, dbeta and dbias of the rows of a block.
template <int kLanes, bool kSumsBranch, typename R, typename T>
__global__ void __launch_bounds__(kMostWarps* kWarpSize, kBlocksPerMultiprocessor)
    LayerNormBackwardKernel(const Rows<R, T> args, float* partials) {
  AwaitPrevious();
  GP_DYNAMIC_SHARED(float, shared);
  const int warps = static_cast<int>(blockDim.x) / kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const int first = static_cast<int>(threadIdx.x) % kWarpSize * kLanes;
  const int channels = args.channels;
  const int sum_count = kSums<kSumsBranch> * channels;
  float* sums = shared + warps * channels;
  T* douts = reinterpret_cast<T*>(sums + sum_count);
  const RowCache<T> caches{shared, douts, douts + warps * channels};
  const RowCache<T> cache{caches.xhat + warp * channels, caches.dout + warp * channels,
                          caches.dbranch + warp * channels};

  for (int c = static_cast<int>(threadIdx.x); c < sum_count; c += static_cast<int>(blockDim.x)) {
    sums[c] = 0;
  }
  for (int64_t round = blockIdx.x; round * warps < args.rows; round += gridDim.x) {
    const int64_t row = round * warps + warp;
    if (row < args.rows) {
      // Loaded here, so that the loads overlap with the computation of the means.
      DinBatch<kLanes, R> dins;
      if (args.accumulate) dins.Load(args.din + row * channels, first, channels);
      const RowMeans means = ReadRow<kLanes>(args, row, first, cache);
      WriteRow<kLanes, kSumsBranch>(args, row, first, cache, means, dins);
    } else {
      ClearRow<kLanes, kSumsBranch>(channels, first, cache);
    }
    __syncthreads();
    AddColumns<kSumsBranch>(warps, channels, caches, sums);
    __syncthreads();
  }
  for (int c = static_cast<int>(threadIdx.x); c < sum_count; c += static_cast<int>(blockDim.x)) {
    partials[int64_t{blockIdx.x} * sum_count + c] = sums[c];
  }
}

// The outputs of AddPartsKernel: dgamma, dbeta and dbias; each (channels) or absent.
struct ParameterGradients {
  float* of[3];
  bool accumulate;
};

// Adds up the partials of 32 columns: each warp sums every 16th partial, then the sums of the warps
// are added in order.
constexpr int kPartWarps = 16;
__global__ void __launch_bounds__(kPartWarps* kWarpSize)
    AddPartsKernel(int channels, int columns, int parts, const float* partials,
                   ParameterGradients gradients) {
  AwaitPrevious();
  GP_SHARED(float, sums, [kPartWarps][kWarpSize]);
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const int c = static_cast<int>(blockIdx.x) * kWarpSize + lane;
  float sum = 0;
  if (c < columns) {
    for (int part = warp; part < parts; part += kPartWarps) {
      sum += partials[int64_t{part} * columns + c];
    }
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || c >= columns) return;
  float total = 0;
#pragma unroll
  for (int w = 0; w < kPartWarps; ++w) total += sums[w][lane];
  float* to = gradients.of[c / channels];
  if (to == nullptr) return;
  to += c % channels;
  *to = gradients.accumulate ? *to + total : total;
}

template <typename R, typename T>
Rows<R, T> RowsOf(const LayerNormBackwardArgs& args) {
  const LayerNormBackward& norm = args.norm;
  return {.rows = norm.rows,
          .channels = static_cast<int>(norm.channels),
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

template <bool kSumsBranch, typename R, typename T>
void LaunchRows(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  const LayerNormBackward& norm = args.norm;
  const Rows<R, T> rows = RowsOf<R, T>(args);
  const int warps = WarpsFor<kSumsBranch>(norm.channels, sizeof(T));
  const int64_t parts = PartsFor(norm.rows, warps);
  const auto shared_bytes =
      static_cast<size_t>(SharedBytes<kSumsBranch>(warps, norm.channels, sizeof(T)));
  WithLanes<sizeof(R)>(norm.channels, [&](auto lanes) {
    Launch(&LayerNormBackwardKernel<decltype(lanes)::value, kSumsBranch, R, T>,
           static_cast<unsigned int>(parts), static_cast<unsigned int>(warps * kWarpSize),
           shared_bytes, stream, rows, args.scratch);
  });
  const int columns = kSums<kSumsBranch> * rows.channels;
  Launch(&AddPartsKernel, BlocksFor(columns, kWarpSize), kPartWarps * kWarpSize, 0, stream,
         rows.channels, columns, static_cast<int>(parts), args.scratch,
         {{norm.dgamma, norm.dbeta, args.dbias}, norm.accumulate_parameters});
}

}  // namespace

int64_t LayerNormBackwardScratch(int64_t rows, int64_t channels) {
  return PartsFor(rows, 1) * 3 * channels;
}

void LaunchLayerNormBackward(const LayerNormBackwardArgs& args, cudaStream_t stream,
                             int64_t shared_bytes) {
  const LayerNormBackward& norm = args.norm;
  if (norm.rows == 0) return;
  if (SharedBytes<false>(1, norm.channels, 4) > kSharedBytes) {
    throw std::invalid_argument("LayerNorm's gradient has at most 4096 channels on a GPU, not " +
                                std::to_string(norm.channels));
  }
  const bool sums_in_pass = args.dbias != nullptr &&
                            SumsBranchInPass(norm.channels, BytesOf(norm.dout.type), shared_bytes);
  WithElementTypes(norm.in.type, norm.dout.type, [&](auto r, auto t) {
    using R = decltype(r);
    using T = decltype(t);
    sums_in_pass ? LaunchRows<true, R, T>(args, stream) : LaunchRows<false, R, T>(args, stream);
  });
  if (args.dbias == nullptr || sums_in_pass) return;
  // The partial sums have been added up, so their scratch memory can be reused.
  LaunchColumnSums(args.dbranch, norm.rows, norm.channels, args.dbias, norm.accumulate_parameters,
                   args.scratch, stream);
}

}  // namespace gp::engine
