// The rows of a batch in the order of their tokens: a stable least-significant-digit radix sort, 8
// bits at a time. All pointers are device memory. Any thread may call; work is put on the stream.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace gp::engine {

// sorted_tokens = the tokens in ascending order, sorted_rows = the row of each; equal tokens keep
// the order of their rows. Tokens are in [0, tokens_below); each 8 bits of this bound need one
// pass. Moves about 28 bytes per token and pass.
struct TokenSort {
  int64_t count = 0;
  int64_t tokens_below = 0;
  const int32_t* tokens = nullptr;
  int32_t* sorted_tokens = nullptr;
  int32_t* sorted_rows = nullptr;
  int32_t* scratch = nullptr;  // TokenSortScratch(count) elements
};

int64_t TokenSortScratch(int64_t count);

// Throws std::invalid_argument for more than 2^31 - 1 tokens.
void LaunchTokenSort(const TokenSort& args, cudaStream_t stream);

}  // namespace gp::engine
