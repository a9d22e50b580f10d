// Token and position embedding, and their gradients. All pointers are device memory; rows are
// contiguous, Buffers are aligned to 16 bytes. Any thread may call; work is put on the stream.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

// out (B*T, C) = dropout(wte[token] + wpe[position]); without `positions`, a row's position is that
// in its sequence.
struct EmbeddingForwardArgs {
  int64_t sequences = 0;  // B
  int64_t length = 0;     // T
  int64_t channels = 0;   // C
  Buffer out;
  const int32_t* tokens = nullptr;     // (B*T)
  const int32_t* positions = nullptr;  // (B*T) or absent
  const float* wte = nullptr;
  const float* wpe = nullptr;
  Dropout dropout;
};
void LaunchEmbeddingForward(const EmbeddingForwardArgs& args, cudaStream_t stream);

// dwte += and dwpe += from dout (B*T, C); either may be absent. Rows are sorted by token and added
// up in the order of the rows, in parts of 64: no atomics, equal inputs give equal bits. A row of
// dwte whose token does not occur is not touched.
struct EmbeddingBackwardArgs {
  int64_t sequences = 0;
  int64_t length = 0;
  int64_t channels = 0;
  float* dwte = nullptr;
  float* dwpe = nullptr;
  Buffer dout;
  const int32_t* tokens = nullptr;
  Dropout dropout;
  int64_t tokens_below = int64_t{1} << 24;  // a smaller bound needs fewer sort passes
};
// Bytes of `scratch` that LaunchEmbeddingBackward needs for `rows` = B*T.
int64_t EmbeddingBackwardScratch(int64_t rows, int64_t channels);
void LaunchEmbeddingBackward(const EmbeddingBackwardArgs& args, std::byte* scratch,
                             cudaStream_t stream);

}  // namespace gp::engine
