// Memory traffic in bytes per element. Forward: reads wte and wpe (4 + 4, wpe mostly from the
// cache), writes the fp32 residual stream (4). Backward: reads dout twice (4 + 4), once for wte and
// once for wpe; reads and writes dwte (4 + 4) only for tokens that occur.
#include <algorithm>

#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/dropout_mask.cuh"
#include "worker/engine/backend/cuda/kernels/embedding.h"
#include "worker/engine/backend/cuda/kernels/shared_memory.cuh"
#include "worker/engine/backend/cuda/kernels/token_sort.h"
#include "worker/engine/backend/cuda/kernels/vector_access.cuh"
#include "worker/engine/backend/cuda/kernels/warp_rows.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

constexpr int kForwardWarps = 8;
constexpr int kColumnThreads = 256;
// Sorted rows that one block adds up: 1024 blocks for 65536 tokens.
constexpr int kPartRows = 64;
// Rows of dout that a thread loads at a time.
constexpr int kAhead = 4;

template <int kLanes, typename R>
__global__ void __launch_bounds__(kForwardWarps* kWarpSize)
    EmbeddingKernel(int64_t rows, int64_t length, int64_t channels, R* out, const int32_t* tokens,
                    const int32_t* positions, const float* wte, const float* wpe,
                    const DropoutMask mask) {
  AwaitPrevious();
  const WarpRow<kLanes> at;
  if (at.row >= rows) return;
  const float* token = wte + tokens[at.row] * channels;
  const int64_t place = positions == nullptr ? at.row % length : positions[at.row];
  const float* position = wpe + place * channels;
  const DropoutMaskRow row_mask = RowOf(mask, at.row);
  for (int64_t c = at.first; c < channels; c += at.kStride) {
    Floats<kLanes> values = LoadFloats<kLanes>(token + c);
    const Floats<kLanes> added = LoadFloats<kLanes>(position + c);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) values.lane[i] += added.lane[i];
    if (mask.active) ApplyMask(row_mask, c, values);
    StoreFloats<kLanes>(out + at.row * channels + c, values);
  }
}

template <typename R>
struct Gradient {
  int64_t rows;
  int64_t channels;
  const R* dout;
  DropoutMask mask;

  // Returns dropout(dout) of kLanes elements of a row, beginning with `column`.
  template <int kLanes>
  __device__ __forceinline__ Floats<kLanes> At(int64_t row, int64_t column) const {
    Floats<kLanes> values = LoadFloats<kLanes>(dout + row * channels + column);
    if (mask.active) ApplyMask(RowOf(mask, row), column, values);
    return values;
  }
};

template <int kLanes>
__device__ __forceinline__ void Add(Floats<kLanes>& sum, const Floats<kLanes>& values) {
#pragma unroll
  for (int i = 0; i < kLanes; ++i) sum.lane[i] += values.lane[i];
}

template <int kLanes>
__device__ __forceinline__ void AddToMemory(float* to, const Floats<kLanes>& values) {
  Floats<kLanes> sum = LoadFloats<kLanes>(to);
  Add(sum, values);
  StoreFloats<kLanes>(to, sum);
}

// One block per position adds up the position's rows, one from each sequence, in the order of the
// sequences.
template <int kLanes, typename R>
__global__ void __launch_bounds__(kColumnThreads)
    PositionGradientKernel(const Gradient<R> gradient, int64_t length, float* dwpe) {
  AwaitPrevious();
  const int64_t channels = gradient.channels;
  for (int64_t c = static_cast<int64_t>(threadIdx.x) * kLanes; c < channels;
       c += int64_t{blockDim.x} * kLanes) {
    Floats<kLanes> sum = {};
#pragma unroll 4
    for (int64_t row = blockIdx.x; row < gradient.rows; row += length) {
      Add(sum, gradient.template At<kLanes>(row, c));
    }
    AddToMemory(dwpe + blockIdx.x * channels + c, sum);
  }
}

// The sorted rows that one block adds up: [begin, begin + count).
struct Part {
  int64_t begin;
  int count;
  // Whether its first token is also the last token of the previous part.
  bool continues;
};

__device__ __forceinline__ Part PartAt(int64_t index, int64_t rows, const int32_t* sorted_tokens) {
  const int64_t begin = index * kPartRows;
  return {begin, static_cast<int>(min(int64_t{kPartRows}, rows - begin)),
          begin > 0 && sorted_tokens[begin] == sorted_tokens[begin - 1]};
}

// Each block adds up the rows of its part, token by token. When a token begins in this part, its
// sum goes into dwte; no other block of this kernel writes there. Rows that continue a token of the
// previous part are summed into `continued` (parts, channels).
template <int kLanes, typename R>
__global__ void __launch_bounds__(kColumnThreads)
    TokenGradientKernel(const Gradient<R> gradient, const int32_t* sorted_tokens,
                        const int32_t* sorted_rows, float* dwte, float* continued) {
  AwaitPrevious();
  GP_SHARED(int32_t, tokens, [kPartRows]);
  GP_SHARED(int32_t, rows, [kPartRows]);
  const Part part = PartAt(blockIdx.x, gradient.rows, sorted_tokens);
  for (int i = static_cast<int>(threadIdx.x); i < part.count; i += static_cast<int>(blockDim.x)) {
    tokens[i] = sorted_tokens[part.begin + i];
    rows[i] = sorted_rows[part.begin + i];
  }
  __syncthreads();
  const int64_t channels = gradient.channels;
  for (int64_t c = static_cast<int64_t>(threadIdx.x) * kLanes; c < channels;
       c += int64_t{blockDim.x} * kLanes) {
    Floats<kLanes> sum = {};
    for (int first = 0; first < part.count; first += kAhead) {
      Floats<kLanes> ahead[kAhead] = {};
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        if (first + i < part.count) ahead[i] = gradient.template At<kLanes>(rows[first + i], c);
      }
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        const int at = first + i;
        if (at >= part.count) break;
        Add(sum, ahead[i]);
        const bool ends = at + 1 == part.count || tokens[at + 1] != tokens[at];
        if (!ends) continue;
        if (part.continues && tokens[at] == tokens[0]) {
          StoreFloats<kLanes>(continued + blockIdx.x * channels + c, sum);
        } else {
          AddToMemory(dwte + tokens[at] * channels + c, sum);
        }
        sum = {};
      }
    }
  }
}

// Adds up the `continued` sums of each token that spans several parts, in order. The block of the
// first part that continues the token does it.
template <int kLanes>
__global__ void __launch_bounds__(kColumnThreads)
    ContinuedTokensKernel(int64_t rows, int64_t channels, int64_t parts,
                          const int32_t* sorted_tokens, const float* continued, float* dwte) {
  AwaitPrevious();
  if (!PartAt(blockIdx.x, rows, sorted_tokens).continues) return;
  const int32_t token = sorted_tokens[int64_t{blockIdx.x} * kPartRows];
  const int64_t before = int64_t{blockIdx.x} - 1;
  const bool is_first =
      !PartAt(before, rows, sorted_tokens).continues || sorted_tokens[before * kPartRows] != token;
  if (!is_first) return;
  for (int64_t c = static_cast<int64_t>(threadIdx.x) * kLanes; c < channels;
       c += int64_t{blockDim.x} * kLanes) {
    Floats<kLanes> sum = {};
    for (int64_t part = blockIdx.x; part < parts && sorted_tokens[part * kPartRows] == token;
         ++part) {
      Add(sum, LoadFloats<kLanes>(continued + part * channels + c));
    }
    AddToMemory(dwte + token * channels + c, sum);
  }
}

int64_t PartsOf(int64_t rows) { return (rows + kPartRows - 1) / kPartRows; }

// Threads for a block whose threads share the columns of one row.
unsigned int ThreadsFor(int64_t channels, int lanes) {
  const int64_t warps = (channels / lanes + kWarpSize - 1) / kWarpSize;
  return static_cast<unsigned int>(
      std::clamp<int64_t>(warps * kWarpSize, kWarpSize, kColumnThreads));
}

template <int kLanes, typename R>
void LaunchGradients(const EmbeddingBackwardArgs& args, const Gradient<R>& gradient,
                     const TokenSort& sort, float* continued, cudaStream_t stream) {
  const unsigned int threads = ThreadsFor(args.channels, kLanes);
  const int64_t parts = PartsOf(gradient.rows);
  if (args.dwpe != nullptr) {
    Launch(&PositionGradientKernel<kLanes, R>, static_cast<unsigned int>(args.length), threads, 0,
           stream, gradient, args.length, args.dwpe);
  }
  if (args.dwte == nullptr) return;
  Launch(&TokenGradientKernel<kLanes, R>, static_cast<unsigned int>(parts), threads, 0, stream,
         gradient, sort.sorted_tokens, sort.sorted_rows, args.dwte, continued);
  Launch(&ContinuedTokensKernel<kLanes>, static_cast<unsigned int>(parts), threads, 0, stream,
         gradient.rows, args.channels, parts, sort.sorted_tokens, continued, args.dwte);
}

}  // namespace

void LaunchEmbeddingForward(const EmbeddingForwardArgs& args, cudaStream_t stream) {
  const int64_t rows = args.sequences * args.length;
  if (rows == 0) return;
  WithElementType(args.out.type, [&](auto r) {
    using R = decltype(r);
    WithLanes<sizeof(float)>(args.channels, [&](auto lanes) {
      Launch(&EmbeddingKernel<decltype(lanes)::value, R>, BlocksFor(rows, kForwardWarps),
             kForwardWarps * kWarpSize, 0, stream, rows, args.length, args.channels,
             static_cast<R*>(args.out.data), args.tokens, args.positions, args.wte, args.wpe,
             MaskOf(args.dropout));
    });
  });
}

int64_t EmbeddingBackwardScratch(int64_t rows, int64_t channels) {
  return (PartsOf(rows) * channels + 2 * rows + TokenSortScratch(rows)) *
         static_cast<int64_t>(sizeof(float));
}

void LaunchEmbeddingBackward(const EmbeddingBackwardArgs& args, std::byte* scratch,
                             cudaStream_t stream) {
  const int64_t rows = args.sequences * args.length;
  if (rows == 0) return;
  auto* continued = reinterpret_cast<float*>(scratch);
  auto* sorted = reinterpret_cast<int32_t*>(continued + PartsOf(rows) * args.channels);
  const TokenSort sort{.count = rows,
                       .tokens_below = args.tokens_below,
                       .tokens = args.tokens,
                       .sorted_tokens = sorted,
                       .sorted_rows = sorted + rows,
                       .scratch = sorted + 2 * rows};
  if (args.dwte != nullptr) LaunchTokenSort(sort, stream);
  WithElementType(args.dout.type, [&](auto r) {
    using R = decltype(r);
    const Gradient<R> gradient{rows, args.channels, static_cast<const R*>(args.dout.data),
                               MaskOf(args.dropout)};
    WithLanes<sizeof(float)>(args.channels, [&](auto lanes) {
      LaunchGradients<decltype(lanes)::value>(args, gradient, sort, continued, stream);
    });
  });
}

}  // namespace gp::engine
