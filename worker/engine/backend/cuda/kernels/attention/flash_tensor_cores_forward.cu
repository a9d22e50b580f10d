// A block of 4 warps has 16 * kRowTiles queries per warp and walks over tiles of keys in ascending
// order, two in shared memory at a time: one is used while the next one is loaded. Scores,
// probabilities and results stay in registers. With kRowTiles = 2 each tile of keys that a warp
// loads serves four products, so that shared memory keeps up with a Hopper's tensor cores.
#include "worker/engine/backend/cuda/kernels/attention/flash_fragments.cuh"
#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/shared_memory.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * 32;

// Tile sizes for head sizes up to kD: as large as registers (255 per thread) and 99 KiB of shared
// memory allow.
template <int kHeadSize>
struct Sizes {
  static constexpr int kD = kHeadSize;
  static constexpr int kRowTiles = 2;
  static constexpr int kKeys = kD <= 64 ? 64 : 32;
  static constexpr int kWarpRows = 16 * kRowTiles;
  static constexpr int kRows = kWarps * kWarpRows;
  static constexpr int64_t kSharedBytes = TileBytes<kD>(kRows) + 4 * TileBytes<kD>(kKeys);
};

#if GP_TENSOR_CORES

// A warp's state for 16 queries.
template <typename S>
struct Rows {
  FragmentC out[S::kD / 8];
  float maxima[2];  // for rows `group` and `group + 8`
  float sums[2];    // sums of this thread's columns

  __device__ void Begin() {
    Clear(out);
    for (int half = 0; half < 2; ++half) {
      maxima[half] = -INFINITY;
      sums[half] = 0;
    }
  }
};

// Scores of keys after their query become -inf.
template <int kTiles>
__device__ __forceinline__ void MaskScores(FragmentC (&scores)[kTiles], int query, int key) {
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int column = key + n * 8 + Member() * 2 + e % 2;
      if (column > query + Group() + e / 2 * 8) scores[n][e] = -INFINITY;
    }
  }
}

// The softmax of Milakov & Gimelshein 2018, arXiv:1805.02867, in powers of two: scores become
// exp(scale * (score - maximum)), and earlier results are rescaled to the new maximum. Every query
// has seen key 0 by then, so a maximum is finite.
template <typename S>
__device__ __forceinline__ void Softmax(Rows<S>& rows, FragmentC (&scores)[S::kKeys / 8],
                                        float scale2) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float largest = rows.maxima[half];
#pragma unroll
    for (int n = 0; n < S::kKeys / 8; ++n) {
      largest = fmaxf(largest, fmaxf(scores[n][2 * half], scores[n][2 * half + 1]));
    }
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
    const float correction = FastExp2((rows.maxima[half] - largest) * scale2);
    rows.maxima[half] = largest;
    rows.sums[half] *= correction;
#pragma unroll
    for (int n = 0; n < S::kD / 8; ++n) {
      rows.out[n][2 * half] *= correction;
      rows.out[n][2 * half + 1] *= correction;
    }
    const float offset = largest * scale2;
#pragma unroll
    for (int n = 0; n < S::kKeys / 8; ++n) {
#pragma unroll
      for (int e = 2 * half; e < 2 * half + 2; ++e) {
        scores[n][e] = FastExp2(fmaf(scores[n][e], scale2, -offset));
        rows.sums[half] += scores[n][e];
      }
    }
  }
}

// Dropped probabilities become 0; the kept ones are scaled at the end.
template <int kTiles>
__device__ __forceinline__ void Drop(FragmentC (&p)[kTiles], const DropoutMask& mask,
                                     const uint64_t (&row_keys)[2], int key) {
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int column = key + n * 8 + Member() * 2 + e % 2;
      if (!Keeps(mask, row_keys[e / 2], column)) p[n][e] = 0;
    }
  }
}

template <typename T, typename S, bool kDrops>
struct ForwardWarp {
  // Queries stay in registers if they fit.
  static constexpr bool kHoldsQueries = S::kD <= 32;

  const FlashView& view;
  const DropoutMask& mask;
  int query;  // the warp's first
  const T* q_tile;
  Rows<S> rows[S::kRowTiles];
  FragmentA q[S::kRowTiles][kHoldsQueries ? S::kD / 16 : 1];
  uint64_t row_keys[S::kRowTiles][2];

  __device__ void Begin(int64_t head) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
      rows[r].Begin();
      for (int half = 0; kDrops && half < 2; ++half) {
        const int64_t row = head * view.length + query + r * 16 + Group() + half * 8;
        row_keys[r][half] = RowOf(mask, row).row_key;
      }
    }
  }

  // Call it after the tile of queries has arrived.
  __device__ void HoldQueries() {
    if constexpr (kHoldsQueries) {
#pragma unroll
      for (int r = 0; r < S::kRowTiles; ++r) {
#pragma unroll
        for (int k = 0; k < S::kD / 16; ++k) {
          LoadA<S::kD>(q[r][k], q_tile, Warp() * S::kWarpRows + r * 16, k * 16);
        }
      }
    }
  }

  __device__ void LoadQuery(FragmentA& a, int r, int k) const {
    if constexpr (kHoldsQueries) {
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = q[r][k][i];
    } else {
      LoadA<S::kD>(a, q_tile, Warp() * S::kWarpRows + r * 16, k * 16);
    }
  }

  __device__ void Score(FragmentC (&scores)[S::kRowTiles][S::kKeys / 8], const T* keys) const {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) Clear(scores[r]);
#pragma unroll 4
    for (int k = 0; k < S::kD / 16; ++k) {
      FragmentA a[S::kRowTiles];
#pragma unroll
      for (int r = 0; r < S::kRowTiles; ++r) LoadQuery(a[r], r, k);
#pragma unroll
      for (int n = 0; n < S::kKeys / 8; n += 2) {
        uint32_t b[4];
        LoadB<S::kD>(b, keys, n * 8, k * 16);
#pragma unroll
        for (int r = 0; r < S::kRowTiles; ++r) {
          MultiplyTile<T>(scores[r][n], a[r], b[0], b[1]);
          MultiplyTile<T>(scores[r][n + 1], a[r], b[2], b[3]);
        }
      }
    }
  }

  __device__ void AddValues(const FragmentA (&p)[S::kRowTiles][S::kKeys / 16], const T* values) {
#pragma unroll
    for (int k = 0; k < S::kKeys / 16; ++k) {
#pragma unroll
      for (int n = 0; n < S::kD / 8; n += 2) {
        uint32_t b[4];
        LoadBTransposed<S::kD>(b, values, k * 16, n * 8);
#pragma unroll
        for (int r = 0; r < S::kRowTiles; ++r) {
          MultiplyTile<T>(rows[r].out[n], p[r][k], b[0], b[1]);
          MultiplyTile<T>(rows[r].out[n + 1], p[r][k], b[2], b[3]);
        }
      }
    }
  }

  // Adds the tile of keys that begins with `key`.
  __device__ void Attend(int key, const T* keys, const T* values) {
    FragmentC scores[S::kRowTiles][S::kKeys / 8];
    Score(scores, keys);
    FragmentA p[S::kRowTiles][S::kKeys / 16];
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
      if (key + S::kKeys > query) MaskScores(scores[r], query + r * 16, key);
      Softmax(rows[r], scores[r], view.scale * kLog2E);
      if constexpr (kDrops) Drop(scores[r], mask, row_keys[r], key);
      RoundToA<T>(p[r], scores[r]);
    }
    AddValues(p, values);
  }

  __device__ void Write(const HeadRows<T>& out, float* lse) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
      const int first = query + r * 16;
      float factors[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float sum = rows[r].sums[half];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        factors[half] = (kDrops ? mask.scale : 1.0f) / sum;
        const int t = first + Group() + half * 8;
        if (Member() == 0 && t < view.length) {
          lse[t] = rows[r].maxima[half] * view.scale + logf(sum);
        }
      }
      StoreRows<S::kD>(out, first, rows[r].out, factors[0], factors[1], view);
    }
  }
};

#endif

template <typename T, typename S, bool kDrops>
__global__ void __launch_bounds__(kThreads)
    FlashForwardKernel(FlashView view, FlashForwardArrays<T> arrays, int tiles, DropoutMask mask) {
  AwaitPrevious();
#if GP_TENSOR_CORES
  GP_DYNAMIC_SHARED(T, shared);
  constexpr int kTile = S::kKeys * kTileStride<S::kD>;
  T* q_tile = shared;
  T* k_tiles = q_tile + S::kRows * kTileStride<S::kD>;
  T* v_tiles = k_tiles + 2 * kTile;

  const FlashBlock block(tiles, true);
  const int first = block.tile * S::kRows;
  const auto q = view.Part(arrays.qkv, block.head, 0, 3);
  const auto k = view.Part(arrays.qkv, block.head, 1, 3);
  const auto v = view.Part(arrays.qkv, block.head, 2, 3);
  const auto copy_keys = [&](int tile) {
    CopyTile<S::kKeys, S::kD, kThreads>(k_tiles + tile % 2 * kTile, k, tile * S::kKeys, view);
    CopyTile<S::kKeys, S::kD, kThreads>(v_tiles + tile % 2 * kTile, v, tile * S::kKeys, view);
    CommitCopies();
  };
  CopyTile<S::kRows, S::kD, kThreads>(q_tile, q, first, view);
  copy_keys(0);

  ForwardWarp<T, S, kDrops> warp{view, mask, first + Warp() * S::kWarpRows, q_tile};
  warp.Begin(block.head);
  const int key_tiles = (min(first + S::kRows, view.length) + S::kKeys - 1) / S::kKeys;
  for (int tile = 0; tile < key_tiles; ++tile) {
    WaitForCopies<0>();
    __syncthreads();
    if (tile == 0) warp.HoldQueries();
    if (tile + 1 < key_tiles) copy_keys(tile + 1);
    if (tile * S::kKeys < warp.query + S::kWarpRows) {
      warp.Attend(tile * S::kKeys, k_tiles + tile % 2 * kTile, v_tiles + tile % 2 * kTile);
    }
  }
  warp.Write(view.Part(arrays.out, block.head, 0, 1), arrays.lse + block.head * view.length);
#else
  __trap();
#endif
}

template <typename T, int kD>
void LaunchSized(const FlashForward& args, cudaStream_t stream) {
  using S = Sizes<kD>;
  const int tiles = FlashTiles(args.shape, S::kRows);
  auto* kernel = args.dropout.probability > 0 ? FlashForwardKernel<T, S, true>
                                              : FlashForwardKernel<T, S, false>;
  Launch(kernel, FlashGrid(args.shape, tiles), dim3(kThreads), S::kSharedBytes, stream,
         FlashView(args.shape), ArraysOf<T>(args), tiles, MaskOf(args.dropout));
}

}  // namespace

void LaunchFlashForwardOnTensorCores(const FlashForward& args, cudaStream_t stream) {
  WithTensorCoreTile(args.qkv.type, args.shape.head_size, [&](auto element, auto size) {
    LaunchSized<decltype(element), decltype(size)::value>(args, stream);
  });
}

}  // namespace gp::engine
