// Two kernels, each of which recomputes the scores: blocks of keys walk over the queries that see
// them (dk, dv), blocks of queries over their keys (dq); for the formulas see
// flash_tensor_cores_backward.cu. At most 64 KiB of shared memory up to D = 128, 68 KiB above.
#include "worker/engine/backend/cuda/kernels/attention/flash_blocks.cuh"
#include "worker/engine/backend/cuda/kernels/attention/flash_gradient.cuh"
#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/shared_memory.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

// The shared memory of a block: two tiles that stay, two tiles that change with each step, and the
// weights that the second product reads.
template <typename S>
struct Tiles {
  explicit __device__ Tiles(float* shared)
      : row_tiles{shared, shared + S::kRowFloats},
        step_tiles{row_tiles[1] + S::kRowFloats, row_tiles[1] + S::kRowFloats + S::kStepFloats},
        weights(step_tiles[1] + S::kStepFloats) {}

  static constexpr int64_t Bytes() {
    return 4 * (2 * S::kRowFloats + 2 * S::kStepFloats + S::kWeightFloats);
  }

  float* row_tiles[2];
  float* step_tiles[2];
  float* weights;
};

// result += scores steps, with the scores passed through shared memory.
template <typename S>
__device__ __forceinline__ void AddProduct(BlockResult<S>& result, const Tiles<S>& tiles,
                                           const BlockScores<S>& scores, const float* steps) {
  __syncthreads();
  WriteWeights<S>(tiles.weights, scores);
  __syncthreads();
  AddWeighted<S>(result, tiles.weights, steps);
}

// Computes dk and dv: rows are keys, steps are queries.
template <typename T, typename S, bool kDrops>
__global__ void __launch_bounds__(kBlockThreads)
    FlashKeyGradientKernel(FlashView view, FlashBackwardArrays<T> arrays, int tile_count,
                           DropoutMask mask) {
  AwaitPrevious();
  GP_DYNAMIC_SHARED(float, shared);
  const Tiles<S> tiles(shared);
  const FlashBlock block(tile_count, false);
  const int first_key = block.tile * S::kRows;
  const auto q = view.Part(arrays.qkv, block.head, 0, 3);
  const auto dout = view.Part(arrays.dout, block.head, 0, 1);
  ReadTile<S, S::kRows>(tiles.row_tiles[0], view.Part(arrays.qkv, block.head, 1, 3), first_key,
                        view);
  ReadTile<S, S::kRows>(tiles.row_tiles[1], view.Part(arrays.qkv, block.head, 2, 3), first_key,
                        view);
  BlockResult<S> dk;
  BlockResult<S> dv;
  Clear<S>(dk);
  Clear<S>(dv);
  for (int query = first_key; query < view.length; query += S::kSteps) {
    __syncthreads();
    ReadTile<S, S::kSteps>(tiles.step_tiles[0], q, query, view);
    ReadTile<S, S::kSteps>(tiles.step_tiles[1], dout, query, view);
    __syncthreads();
    BlockScores<S> p;
    BlockScores<S> ds;
    MultiplyRows<S>(p, tiles.row_tiles[0], tiles.step_tiles[0], view.head_size);
    MultiplyRows<S>(ds, tiles.row_tiles[1], tiles.step_tiles[1], view.head_size);
#pragma unroll
    for (int j = 0; j < S::kThreadSteps; ++j) {
      const int this_query = query + ThreadX() + j * kSide;
      const QueryScalars scalars = ScalarsOf(arrays, view, block.head, this_query, mask);
#pragma unroll
      for (int i = 0; i < S::kThreadRows; ++i) {
        const int key = first_key + ThreadY() + i * kSide;
        ScoreGradient<kDrops>(p[i][j], ds[i][j], view.scale * kLog2E, key <= this_query, scalars,
                              mask, key);
      }
    }
    AddProduct<S>(dv, tiles, p, tiles.step_tiles[1]);
    AddProduct<S>(dk, tiles, ds, tiles.step_tiles[0]);
  }
  WriteResult<S>(view.Part(arrays.dqkv, block.head, 1, 3), first_key, dk, view.scale, view);
  WriteResult<S>(view.Part(arrays.dqkv, block.head, 2, 3), first_key, dv,
                 kDrops ? mask.scale : 1.0f, view);
}

// Computes dq: rows are queries, steps are keys.
template <typename T, typename S, bool kDrops>
__global__ void __launch_bounds__(kBlockThreads)
    FlashQueryGradientKernel(FlashView view, FlashBackwardArrays<T> arrays, int tile_count,
                             DropoutMask mask) {
  AwaitPrevious();
  GP_DYNAMIC_SHARED(float, shared);
  const Tiles<S> tiles(shared);
  const FlashBlock block(tile_count, true);
  const int first_query = block.tile * S::kRows;
  const auto k = view.Part(arrays.qkv, block.head, 1, 3);
  const auto v = view.Part(arrays.qkv, block.head, 2, 3);
  ReadTile<S, S::kRows>(tiles.row_tiles[0], view.Part(arrays.qkv, block.head, 0, 3), first_query,
                        view);
  ReadTile<S, S::kRows>(tiles.row_tiles[1], view.Part(arrays.dout, block.head, 0, 1), first_query,
                        view);
  QueryScalars scalars[S::kThreadRows];
#pragma unroll
  for (int i = 0; i < S::kThreadRows; ++i) {
    scalars[i] = ScalarsOf(arrays, view, block.head, first_query + ThreadY() + i * kSide, mask);
  }
  BlockResult<S> dq;
  Clear<S>(dq);
  const int last = min(first_query + S::kRows, view.length);
  for (int key = 0; key < last; key += S::kSteps) {
    __syncthreads();
    ReadTile<S, S::kSteps>(tiles.step_tiles[0], k, key, view);
    ReadTile<S, S::kSteps>(tiles.step_tiles[1], v, key, view);
    __syncthreads();
    BlockScores<S> p;
    BlockScores<S> ds;
    MultiplyRows<S>(p, tiles.row_tiles[0], tiles.step_tiles[0], view.head_size);
    MultiplyRows<S>(ds, tiles.row_tiles[1], tiles.step_tiles[1], view.head_size);
#pragma unroll
    for (int i = 0; i < S::kThreadRows; ++i) {
      const int query = first_query + ThreadY() + i * kSide;
#pragma unroll
      for (int j = 0; j < S::kThreadSteps; ++j) {
        const int this_key = key + ThreadX() + j * kSide;
        ScoreGradient<kDrops>(p[i][j], ds[i][j], view.scale * kLog2E, this_key <= query, scalars[i],
                              mask, this_key);
      }
    }
    AddProduct<S>(dq, tiles, ds, tiles.step_tiles[0]);
  }
  WriteResult<S>(view.Part(arrays.dqkv, block.head, 0, 3), first_query, dq, view.scale, view);
}

template <typename T, typename S>
void LaunchSized(const FlashBackward& args, cudaStream_t stream) {
  const int tiles = FlashTiles(args.shape, S::kRows);
  const bool drops = args.dropout.probability > 0;
  for (auto* kernel :
       {drops ? FlashKeyGradientKernel<T, S, true> : FlashKeyGradientKernel<T, S, false>,
        drops ? FlashQueryGradientKernel<T, S, true> : FlashQueryGradientKernel<T, S, false>}) {
    Launch(kernel, FlashGrid(args.shape, tiles), dim3(kBlockThreads), Tiles<S>::Bytes(), stream,
           FlashView(args.shape), ArraysOf<T>(args), tiles, MaskOf(args.dropout));
  }
}

}  // namespace

void LaunchFlashBackwardOnCudaCores(const FlashBackward& args, cudaStream_t stream) {
  WithElementType(args.qkv.type, [&](auto element) {
    using T = decltype(element);
    const int64_t size = args.shape.head_size;
    if (size <= 32) return LaunchSized<T, BlockSizes<32, 64, 32>>(args, stream);
    if (size <= 64) return LaunchSized<T, BlockSizes<64, 64, 32>>(args, stream);
    if (size <= 128) return LaunchSized<T, BlockSizes<128, 32, 16>>(args, stream);
    LaunchSized<T, BlockSizes<256, 16, 16>>(args, stream);
  });
}

}  // namespace gp::engine
