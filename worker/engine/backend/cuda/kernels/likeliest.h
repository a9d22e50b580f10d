// The largest logits of a row, for sampling. Any thread may call; work is put on the stream.
#pragma once

#include <cuda_runtime.h>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

// args as in backend.h. Reads each logit twice, the second time mostly from a cache.
void LaunchLikeliest(const LikeliestTokens& args, cudaStream_t stream);

}  // namespace gp::engine
