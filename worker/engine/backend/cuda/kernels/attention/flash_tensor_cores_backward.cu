// Two kernels, each of which recomputes the scores: one with a block per tile of keys, which walks
// over the queries that see them and sums dk and dv, one with a block per tile of queries, which
// walks over their keys and sums dq. This takes seven products instead of five, but no sum goes
// through memory, and the order of every sum is fixed. Sums and score gradients stay in registers;
// the tiles of the loop are double-buffered in shared memory. With p = softmax(scale q k^T), m the
// dropout factors and dots = sum(dout * out):
//   dv = (m p)^T dout,  ds = p * (m (dout v^T) - dots),  dq = scale ds k,  dk = scale ds^T q
#include "worker/engine/backend/cuda/kernels/attention/flash_fragments.cuh"
#include "worker/engine/backend/cuda/kernels/attention/flash_gradient.cuh"
#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/shared_memory.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

// Tile sizes for head sizes up to kD, as registers and 99 KiB of shared memory allow. A block keeps
// `kRows` rows, 16 for each warp, and walks over `kSteps` rows at a time.
template <int kHeadSize, int kWarpCount>
struct Sizes {
  static constexpr int kD = kHeadSize;
  static constexpr int kWarps = kWarpCount;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kRows = 16 * kWarps;
  static constexpr int kSteps = kD <= 64 ? 64 : 32;
  // Per step and stage: a query's lse (times log2 e), dots and dropout key.
  static constexpr int64_t kSharedBytes =
      2 * TileBytes<kD>(kRows) + 4 * TileBytes<kD>(kSteps) + 2 * kSteps * 16;
};

#if GP_TENSOR_CORES

// One of the two tiles that stay (q and dout, or k and v). Each warp uses 16 rows of the tile as
// its A operand.
template <typename T, typename S>
struct Held {
  // Whether the operand stays in registers.
  static constexpr bool kHolds = S::kD <= 64;

  const T* tile;
  FragmentA fragments[kHolds ? S::kD / 16 : 1];

  __device__ void Load() {
    if constexpr (kHolds) {
#pragma unroll
      for (int k = 0; k < S::kD / 16; ++k) LoadA<S::kD>(fragments[k], tile, Warp() * 16, k * 16);
    }
  }
  // c = the held rows times the rows of a tile.
  __device__ void Multiply(FragmentC (&c)[S::kSteps / 8], const T* by) const {
    Clear(c);
    if constexpr (kHolds) {
      MultiplyByRows<S::kD>(c, fragments, by);
    } else {
      MultiplyByRows<S::kD>(c, tile, Warp() * 16, by);
    }
  }
};

// Scores of keys after their query become -inf, which gives probability 0. `row` and `column` are
// the fragment's first key and first query, or the other way around. Only the few tiles on the
// diagonal need it.
template <bool kRowsAreKeys, int kTiles>
__device__ __forceinline__ void HideKeysBehindQueries(FragmentC (&scores)[kTiles], int row,
                                                      int column) {
  // Row minus column of an element, without the compile-time part.
  const int distance = row + Group() - column - Member() * 2;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int at_zero = n * 8 + e % 2 - e / 2 * 8;
      const bool hidden = kRowsAreKeys ? distance > at_zero : distance < at_zero;
      if (hidden) scores[n][e] = -INFINITY;
    }
  }
}

// One warp's 16 keys.
template <typename T, typename S, bool kDrops>
struct KeyWarp {
  const FlashView& view;
  const DropoutMask& mask;
  int key;  // the warp's first
  Held<T, S> k;
  Held<T, S> v;
  FragmentC dk[S::kD / 8];
  FragmentC dv[S::kD / 8];

  // Adds queries [query, query + kSteps), with the scalars of each.
  __device__ void Add(int query, const T* q, const T* dout, const QueryScalars* scalars) {
    FragmentC p[S::kSteps / 8];  // (keys, queries)
    FragmentC ds[S::kSteps / 8];
    k.Multiply(p, q);
    if (key + 15 > query) HideKeysBehindQueries<true>(p, key, query);
    v.Multiply(ds, dout);
#pragma unroll
    for (int n = 0; n < S::kSteps / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int step = n * 8 + Member() * 2 + e % 2;
        const int this_key = key + Group() + e / 2 * 8;
        ScoreGradient<kDrops>(p[n][e], ds[n][e], view.scale * kLog2E, true, scalars[step], mask,
                              this_key);
      }
    }
    FragmentA a[S::kSteps / 16];
    RoundToA<T>(a, p);
    MultiplyByColumns<S::kD>(dv, a, dout);
    RoundToA<T>(a, ds);
    MultiplyByColumns<S::kD>(dk, a, q);
  }
};

// One warp's 16 queries.
template <typename T, typename S, bool kDrops>
struct QueryWarp {
  const FlashView& view;
  const DropoutMask& mask;
  int query;  // the warp's first
  Held<T, S> q;
  Held<T, S> dout;
  FragmentC dq[S::kD / 8];
  QueryScalars scalars[2];  // for rows `group` and `group + 8`

  // Adds keys [key, key + kSteps).
  __device__ void Add(int key, const T* k, const T* v) {
    FragmentC p[S::kSteps / 8];  // (queries, keys)
    FragmentC ds[S::kSteps / 8];
    q.Multiply(p, k);
    dout.Multiply(ds, v);
    if (key + S::kSteps - 1 > query) HideKeysBehindQueries<false>(p, query, key);
#pragma unroll
    for (int n = 0; n < S::kSteps / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int this_key = key + n * 8 + Member() * 2 + e % 2;
        ScoreGradient<kDrops>(p[n][e], ds[n][e], view.scale * kLog2E, true, scalars[e / 2], mask,
                              this_key);
      }
    }
    FragmentA a[S::kSteps / 16];
    RoundToA<T>(a, ds);
    MultiplyByColumns<S::kD>(dq, a, k);
  }
};

#endif

// Computes dk and dv.
template <typename T, typename S, bool kDrops>
__global__ void __launch_bounds__(S::kThreads)
    FlashKeyGradientKernel(FlashView view, FlashBackwardArrays<T> arrays, int tiles,
                           DropoutMask mask) {
  AwaitPrevious();
#if GP_TENSOR_CORES
  GP_DYNAMIC_SHARED(T, shared);
  constexpr int kTile = S::kSteps * kTileStride<S::kD>;
  T* k_tile = shared;
  T* v_tile = k_tile + S::kRows * kTileStride<S::kD>;
  T* q_tiles = v_tile + S::kRows * kTileStride<S::kD>;
  T* dout_tiles = q_tiles + 2 * kTile;
  auto* scalars = reinterpret_cast<QueryScalars*>(dout_tiles + 2 * kTile);

  const FlashBlock block(tiles, false);
  const int first = block.tile * S::kRows;
  const auto q = view.Part(arrays.qkv, block.head, 0, 3);
  const auto dout = view.Part(arrays.dout, block.head, 0, 1);
  const auto copy_queries = [&](int step) {
    const int stage = step % 2;
    const int query = step * S::kSteps;
    CopyTile<S::kSteps, S::kD, S::kThreads>(q_tiles + stage * kTile, q, query, view);
    CopyTile<S::kSteps, S::kD, S::kThreads>(dout_tiles + stage * kTile, dout, query, view);
    CommitCopies();
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < S::kSteps) {
      scalars[stage * S::kSteps + thread] =
          ScalarsOf(arrays, view, block.head, query + thread, mask);
    }
  };
  const auto copy_rows = [&](T* tile, int part) {
    CopyTile<S::kRows, S::kD, S::kThreads>(tile, view.Part(arrays.qkv, block.head, part, 3), first,
                                           view);
  };
  copy_rows(k_tile, 1);
  copy_rows(v_tile, 2);
  const int first_step = first / S::kSteps;
  copy_queries(first_step);

  KeyWarp<T, S, kDrops> warp{view, mask, first + Warp() * 16, {k_tile}, {v_tile}};
  Clear(warp.dk);
  Clear(warp.dv);
  const int steps = (view.length + S::kSteps - 1) / S::kSteps;
  for (int step = first_step; step < steps; ++step) {
    WaitForCopies<0>();
    __syncthreads();
    if (step == first_step) {
      warp.k.Load();
      warp.v.Load();
    }
    if (step + 1 < steps) copy_queries(step + 1);
    if (warp.key < (step + 1) * S::kSteps) {
      const int stage = step % 2;
      warp.Add(step * S::kSteps, q_tiles + stage * kTile, dout_tiles + stage * kTile,
               scalars + stage * S::kSteps);
    }
  }
  const float keep_scale = kDrops ? mask.scale : 1.0f;
  StoreRows<S::kD>(view.Part(arrays.dqkv, block.head, 1, 3), warp.key, warp.dk, view.scale,
                   view.scale, view);
  StoreRows<S::kD>(view.Part(arrays.dqkv, block.head, 2, 3), warp.key, warp.dv, keep_scale,
                   keep_scale, view);
#else
  __trap();
#endif
}

// Computes dq.
template <typename T, typename S, bool kDrops>
__global__ void __launch_bounds__(S::kThreads)
    FlashQueryGradientKernel(FlashView view, FlashBackwardArrays<T> arrays, int tiles,
                             DropoutMask mask) {
  AwaitPrevious();
#if GP_TENSOR_CORES
  GP_DYNAMIC_SHARED(T, shared);
  constexpr int kTile = S::kSteps * kTileStride<S::kD>;
  T* q_tile = shared;
  T* dout_tile = q_tile + S::kRows * kTileStride<S::kD>;
  T* k_tiles = dout_tile + S::kRows * kTileStride<S::kD>;
  T* v_tiles = k_tiles + 2 * kTile;

  const FlashBlock block(tiles, true);
  const int first = block.tile * S::kRows;
  const auto k = view.Part(arrays.qkv, block.head, 1, 3);
  const auto v = view.Part(arrays.qkv, block.head, 2, 3);
  const auto copy_keys = [&](int step) {
    const int offset = step % 2 * kTile;
    CopyTile<S::kSteps, S::kD, S::kThreads>(k_tiles + offset, k, step * S::kSteps, view);
    CopyTile<S::kSteps, S::kD, S::kThreads>(v_tiles + offset, v, step * S::kSteps, view);
    CommitCopies();
  };
  CopyTile<S::kRows, S::kD, S::kThreads>(q_tile, view.Part(arrays.qkv, block.head, 0, 3), first,
                                         view);
  CopyTile<S::kRows, S::kD, S::kThreads>(dout_tile, view.Part(arrays.dout, block.head, 0, 1), first,
                                         view);
  copy_keys(0);

  QueryWarp<T, S, kDrops> warp{view, mask, first + Warp() * 16, {q_tile}, {dout_tile}};
  Clear(warp.dq);
  for (int half = 0; half < 2; ++half) {
    warp.scalars[half] = ScalarsOf(arrays, view, block.head, warp.query + Group() + half * 8, mask);
  }
  const int steps = (min(first + S::kRows, view.length) + S::kSteps - 1) / S::kSteps;
  for (int step = 0; step < steps; ++step) {
    WaitForCopies<0>();
    __syncthreads();
    if (step == 0) {
      warp.q.Load();
      warp.dout.Load();
    }
    if (step + 1 < steps) copy_keys(step + 1);
    if (step * S::kSteps < warp.query + 16) {
      warp.Add(step * S::kSteps, k_tiles + step % 2 * kTile, v_tiles + step % 2 * kTile);
    }
  }
  StoreRows<S::kD>(view.Part(arrays.dqkv, block.head, 0, 3), warp.query, warp.dq, view.scale,
                   view.scale, view);
#else
  __trap();
#endif
}

template <typename T, int kD>
void LaunchSized(const FlashBackward& args, cudaStream_t stream) {
  // With 128 keys per block, queries are read half as often as with 64; at D = 128 so many keys do
  // not fit into shared memory.
  using ByKeys = Sizes<kD, kD <= 64 ? 8 : 4>;
  using ByQueries = Sizes<kD, 4>;
  const bool drops = args.dropout.probability > 0;
  const int key_tiles = FlashTiles(args.shape, ByKeys::kRows);
  Launch(drops ? FlashKeyGradientKernel<T, ByKeys, true> : FlashKeyGradientKernel<T, ByKeys, false>,
         FlashGrid(args.shape, key_tiles), dim3(ByKeys::kThreads), ByKeys::kSharedBytes, stream,
         FlashView(args.shape), ArraysOf<T>(args), key_tiles, MaskOf(args.dropout));
  const int query_tiles = FlashTiles(args.shape, ByQueries::kRows);
  Launch(drops ? FlashQueryGradientKernel<T, ByQueries, true>
               : FlashQueryGradientKernel<T, ByQueries, false>,
         FlashGrid(args.shape, query_tiles), dim3(ByQueries::kThreads), ByQueries::kSharedBytes,
         stream, FlashView(args.shape), ArraysOf<T>(args), query_tiles, MaskOf(args.dropout));
}

}  // namespace

void LaunchFlashBackwardOnTensorCores(const FlashBackward& args, cudaStream_t stream) {
  WithTensorCoreTile(args.qkv.type, args.shape.head_size, [&](auto element, auto size) {
    LaunchSized<decltype(element), decltype(size)::value>(args, stream);
  });
}

}  // namespace gp::engine
