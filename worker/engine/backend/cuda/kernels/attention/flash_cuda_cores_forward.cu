// A block has one tile of queries and walks over tiles of keys in ascending order. Keys and values
// alternate in one buffer, so that 64 KiB of shared memory (sm_75) are enough at any head size.
#include "worker/engine/backend/cuda/kernels/attention/flash_blocks.cuh"
#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/shared_memory.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

template <typename S>
constexpr int64_t SharedBytes() {
  return 4 * (S::kRowFloats + S::kStepFloats + S::kWeightFloats);
}

// A thread's state for its queries. All 16 threads of a row have the same maxima; each has the sums
// of its own columns until the end.
template <typename S>
struct SoftmaxState {
  float maxima[S::kThreadRows];
  float sums[S::kThreadRows];
};

__device__ __forceinline__ float MaxOfRow(float value) {
#pragma unroll
  for (int offset = kSide / 2; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

__device__ __forceinline__ float SumOfRow(float value) {
#pragma unroll
  for (int offset = kSide / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

// Row i's scores become probabilities before their division by the sum; earlier sums are rescaled
// to the new maximum. Every query has seen key 0 by then, so its maximum is finite.
template <typename S>
__device__ __forceinline__ void SoftmaxRow(float (&scores)[S::kThreadSteps], float& maximum,
                                           float& sum, float (&result)[S::kVectors][S::kVector],
                                           int query, int key, float scale2) {
  float largest = maximum;
#pragma unroll
  for (int j = 0; j < S::kThreadSteps; ++j) {
    if (key + ThreadX() + j * kSide > query) scores[j] = -INFINITY;
    largest = fmaxf(largest, scores[j]);
  }
  largest = MaxOfRow(largest);
  const float correction = FastExp2((maximum - largest) * scale2);
  maximum = largest;
  sum *= correction;
#pragma unroll
  for (int j = 0; j < S::kThreadSteps; ++j) {
    scores[j] = FastExp2((scores[j] - largest) * scale2);
    sum += scores[j];
  }
#pragma unroll
  for (int c = 0; c < S::kVectors; ++c) {
#pragma unroll
    for (int e = 0; e < S::kVector; ++e) result[c][e] *= correction;
  }
}

template <typename S>
__device__ __forceinline__ void DropRow(float (&p)[S::kThreadSteps], const DropoutMask& mask,
                                        uint64_t row_key, int key) {
#pragma unroll
  for (int j = 0; j < S::kThreadSteps; ++j) {
    if (!Keeps(mask, row_key, key + ThreadX() + j * kSide)) p[j] = 0;
  }
}

// For the tile of keys that begins with `key`: turns the scores into (unnormalised) probabilities
// after dropout, and updates the state and the result.
template <typename S>
__device__ __forceinline__ void Attend(BlockScores<S>& scores, SoftmaxState<S>& state,
                                       BlockResult<S>& result, int64_t first_row, int query,
                                       int key, const FlashView& view, const DropoutMask& mask) {
#pragma unroll
  for (int i = 0; i < S::kThreadRows; ++i) {
    const int row = ThreadY() + i * kSide;
    SoftmaxRow<S>(scores[i], state.maxima[i], state.sums[i], result[i], query + row, key,
                  view.scale * kLog2E);
    if (mask.active) {
      DropRow<S>(scores[i], mask, RowOf(mask, first_row + query + row).row_key, key);
    }
  }
}

template <typename T, typename S>
__global__ void __launch_bounds__(kBlockThreads)
    FlashForwardKernel(FlashView view, FlashForwardArrays<T> arrays, int tiles, DropoutMask mask) {
  AwaitPrevious();
  GP_DYNAMIC_SHARED(float, shared);
  float* q_tile = shared;
  float* step_tile = q_tile + S::kRowFloats;
  float* weights = step_tile + S::kStepFloats;

  const FlashBlock block(tiles, true);
  const int query = block.tile * S::kRows;
  const int64_t first_row = block.head * view.length;
  const auto k = view.Part(arrays.qkv, block.head, 1, 3);
  const auto v = view.Part(arrays.qkv, block.head, 2, 3);
  ReadTile<S, S::kRows>(q_tile, view.Part(arrays.qkv, block.head, 0, 3), query, view);

  SoftmaxState<S> state;
  BlockResult<S> result;
  Clear<S>(result);
  for (int i = 0; i < S::kThreadRows; ++i) {
    state.maxima[i] = -INFINITY;
    state.sums[i] = 0;
  }
  const int last = min(query + S::kRows, view.length);
  for (int key = 0; key < last; key += S::kSteps) {
    __syncthreads();
    ReadTile<S, S::kSteps>(step_tile, k, key, view);
    __syncthreads();
    BlockScores<S> scores;
    MultiplyRows<S>(scores, q_tile, step_tile, view.head_size);
    Attend<S>(scores, state, result, first_row, query, key, view, mask);
    __syncthreads();
    WriteWeights<S>(weights, scores);
    ReadTile<S, S::kSteps>(step_tile, v, key, view);
    __syncthreads();
    AddWeighted<S>(result, weights, step_tile);
  }
  const auto out = view.Part(arrays.out, block.head, 0, 1);
#pragma unroll
  for (int i = 0; i < S::kThreadRows; ++i) {
    const int row = query + ThreadY() + i * kSide;
    const float sum = SumOfRow(state.sums[i]);
    WriteResultRow<S>(out, row, result[i], mask.scale / sum, view);
    if (ThreadX() == 0 && row < view.length) {
      arrays.lse[first_row + row] = state.maxima[i] * view.scale + logf(sum);
    }
  }
}

template <typename T, typename S>
void LaunchSized(const FlashForward& args, cudaStream_t stream) {
  const int tiles = FlashTiles(args.shape, S::kRows);
  Launch(FlashForwardKernel<T, S>, FlashGrid(args.shape, tiles), dim3(kBlockThreads),
         SharedBytes<S>(), stream, FlashView(args.shape), ArraysOf<T>(args), tiles,
         MaskOf(args.dropout));
}

}  // namespace

void LaunchFlashForwardOnCudaCores(const FlashForward& args, cudaStream_t stream) {
  WithElementType(args.qkv.type, [&](auto element) {
    using T = decltype(element);
    const int64_t size = args.shape.head_size;
    if (size <= 32) return LaunchSized<T, BlockSizes<32, 64, 32>>(args, stream);
    if (size <= 64) return LaunchSized<T, BlockSizes<64, 64, 32>>(args, stream);
    if (size <= 128) return LaunchSized<T, BlockSizes<128, 32, 32>>(args, stream);
    LaunchSized<T, BlockSizes<256, 32, 16>>(args, stream);
  });
}

}  // namespace gp::engine
