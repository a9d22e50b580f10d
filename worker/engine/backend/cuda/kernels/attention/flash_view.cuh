// The addresses of heads in packed attention buffers, and code that the flash kernels' launchers
// share. Included by flash_*.cu.
#pragma once

#include <cmath>

#include "worker/engine/backend/cuda/kernels/attention/flash_attention.h"
#include "worker/engine/backend/cuda/kernels/dropout_mask.cuh"
#include "worker/engine/backend/cuda/kernels/fast_exp.cuh"
#include "worker/engine/backend/cuda/kernels/vector_access.cuh"

namespace gp::engine {

// The rows of one head of one part (q, k, v or an output): row t starts at first + t * stride.
template <typename T>
struct HeadRows {
  T* first;
  int64_t stride;

  __device__ T* Row(int64_t t) const { return first + t * stride; }
};

// Whether dropout keeps the element in `column` of the row with this key.
__device__ __forceinline__ bool Keeps(const DropoutMask& mask, uint64_t row_key, int column) {
  return DropoutHash(row_key, static_cast<uint32_t>(column)) >= mask.threshold;
}

struct FlashView {
  explicit FlashView(const AttentionShape& shape)
      : length(static_cast<int>(shape.length)),
        heads(static_cast<int>(shape.heads)),
        head_size(static_cast<int>(shape.head_size)),
        scale(1.0f / std::sqrt(static_cast<float>(shape.head_size))) {}

  // Part `part` of packed rows with `parts` parts; head counts all heads of all sequences.
  template <typename T>
  __device__ HeadRows<T> Part(T* packed, int64_t head, int part, int parts) const {
    const int64_t channels = int64_t{heads} * head_size;
    const int64_t stride = parts * channels;
    return {packed + head / heads * length * stride + part * channels + head % heads * head_size,
            stride};
  }

  int length;
  int heads;
  int head_size;
  float scale;  // multiplies the scores
};

// A kernel's block works on one tile of one head. The grid is flat. The tiles of a head are
// adjacent, so that they find its keys in the second-level cache; the tile with the most work comes
// first.
struct FlashBlock {
  int64_t head;
  int tile;

  __device__ FlashBlock(int tiles, bool last_first) : head(blockIdx.x / tiles) {
    const int index = static_cast<int>(blockIdx.x % static_cast<unsigned>(tiles));
    tile = last_first ? tiles - 1 - index : index;
  }
};

inline int FlashTiles(const AttentionShape& shape, int rows) {
  return static_cast<int>((shape.length + rows - 1) / rows);
}

inline dim3 FlashGrid(const AttentionShape& shape, int tiles) {
  return dim3(static_cast<unsigned>(shape.sequences * shape.heads * tiles));
}

template <typename T>
struct FlashForwardArrays {
  T* out;
  float* lse;
  const T* qkv;
};

template <typename T>
struct FlashBackwardArrays {
  T* dqkv;
  const T* dout;
  const float* lse;
  const T* qkv;
  const float* dots;
};

template <typename T>
FlashForwardArrays<T> ArraysOf(const FlashForward& args) {
  return {static_cast<T*>(args.out.data), args.lse, static_cast<const T*>(args.qkv.data)};
}

template <typename T>
FlashBackwardArrays<T> ArraysOf(const FlashBackward& args) {
  return {static_cast<T*>(args.dqkv.data), static_cast<const T*>(args.dout.data), args.lse,
          static_cast<const T*>(args.qkv.data), args.dots};
}

// The implementations behind the two launchers in flash_attention.h. Backward expects that `dots`
// has been filled in.
void LaunchFlashForwardOnCudaCores(const FlashForward& args, cudaStream_t stream);
void LaunchFlashBackwardOnCudaCores(const FlashBackward& args, cudaStream_t stream);
void LaunchFlashForwardOnTensorCores(const FlashForward& args, cudaStream_t stream);
void LaunchFlashBackwardOnTensorCores(const FlashBackward& args, cudaStream_t stream);

}  // namespace gp::engine
