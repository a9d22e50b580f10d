// Causal attention of new tokens against the cached keys and values of their sequence, for
// sampling. Any thread may call; work is put on the stream.
#pragma once

#include <cuda_runtime.h>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

// args as in backend.h; args.sequences is read on the host before the call returns, args.scratch is
// not used. In the cache, keys and values are stored row by row: (slots, heads, capacity, D). A
// row's bits depend only on its own sequence: not on the batch, nor on how many of its tokens
// arrive together. D in [1, 256].
void LaunchCachedAttention(const CachedAttention& args, cudaStream_t stream);

// The same bits for rows in device memory (backend.h), args.sequences is not used. With `parts`,
// several blocks share the keys of a row, which is faster for few rows with many keys.
void LaunchCachedAttention(const CachedAttention& args, const DecodeRows& rows, float* parts,
                           cudaStream_t stream);
// Floats of `parts` that so many rows need.
int64_t CachedAttentionScratch(const CachedAttention& args, int64_t rows);

}  // namespace gp::engine
