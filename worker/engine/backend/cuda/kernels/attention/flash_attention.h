// Causal attention on packed qkv without a T x T matrix, forwards and backwards, with keyed dropout
// of the probabilities (FlashAttention-2: Dao 2023, arXiv:2307.08691). Used on a GPU without a
// usable cuDNN, and on every GPU when there is dropout. Any thread may call; work is put on the
// stream.
//
// qkv and dqkv are (B*T, 3*C), out and dout (B*T, C), lse (B, H, T); q, k, v and results are of one
// type: fp32, bf16 or fp16. Sums are fp32 and in a fixed order: equal inputs give equal bits, and a
// row of `out` depends only on the rows up to it, whatever T is. Any T; D in [1, 256]. No atomics.
// Backwards on CUDA cores, D > 128 takes 68 KiB of shared memory: more than sm_75 has, where the
// launch throws CudaError.
#pragma once

#include <cuda_runtime.h>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

inline constexpr int64_t kFlashHeadSizeMax = 256;

// The units that multiply. Tensor cores round the probabilities (and backwards the gradients of the
// scores) to the compute type before the second product, as cuDNN and FlashAttention do.
enum class FlashMath { kCudaCores, kTensorCores };

// The fastest that works: tensor cores need bf16 or fp16, compute capability 8.0, head sizes that
// are multiples of 8 and at most 128. REQUIRES: buffers are aligned to 16 bytes.
FlashMath BestFlashMath(const AttentionShape& shape, DataType type, int compute_capability_major);

// out and lse are overwritten.
struct FlashForward {
  AttentionShape shape;
  Buffer out;
  float* lse = nullptr;
  Buffer qkv;
  Dropout dropout;
  FlashMath math = FlashMath::kCudaCores;
};
void LaunchFlashForward(const FlashForward& args, cudaStream_t stream);

// dqkv = the gradient, every element of it. `dots` (B, H, T) is scratch: each row's dout . out.
struct FlashBackward {
  AttentionShape shape;
  Buffer dqkv;
  Buffer dout;
  Buffer out;
  const float* lse = nullptr;
  Buffer qkv;
  float* dots = nullptr;
  Dropout dropout;
  FlashMath math = FlashMath::kCudaCores;
};
void LaunchFlashBackward(const FlashBackward& args, cudaStream_t stream);

}  // namespace gp::engine
