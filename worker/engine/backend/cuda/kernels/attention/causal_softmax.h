// Rows of stored attention probabilities (math attention): softmax over the keys that a query may
// see, keyed dropout, and their gradient. The products around them are strided-batched matmuls. Any
// thread may call; work is put on the stream.
//
// Arrays are (B, H, T, T) = (rows, length) in fp32, bf16 or fp16; row r belongs to query r %
// length. Arithmetic is fp32, one block per row. `dropout` keys an element by (row, column).
#pragma once

#include <cuda_runtime.h>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

// scores := softmax(scale * scores) over the keys up to the query, 0 after them. `dropped`, where
// present, receives the same after dropout; it may not be `scores`. Moves 2 elements per score, 3
// with `dropped`.
struct CausalSoftmax {
  int64_t rows = 0;
  int64_t length = 0;
  float scale = 1;
  Buffer scores;
  Buffer dropped;  // or absent
  Dropout dropout;
};
void LaunchCausalSoftmax(const CausalSoftmax& args, cudaStream_t stream);

// out = dropout(in); out may be in.
void LaunchDropProbabilities(int64_t rows, int64_t length, Buffer out, Buffer in,
                             const Dropout& dropout, cudaStream_t stream);

// d, the gradient of the dropped-out probabilities, becomes that of the unscaled scores: with g =
// dropout(d), d := scale * p * (g - sum(p * g)), 0 after the query. Moves 3 elements per score.
struct CausalSoftmaxBackward {
  int64_t rows = 0;
  int64_t length = 0;
  float scale = 1;
  Buffer d;
  Buffer probabilities;  // before dropout
  Dropout dropout;
};
void LaunchCausalSoftmaxBackward(const CausalSoftmaxBackward& args, cudaStream_t stream);

}  // namespace gp::engine
