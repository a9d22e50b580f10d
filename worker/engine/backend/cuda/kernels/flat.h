// Loops over flat buffers: rounding, conversion between element types, linear combination. Any
// thread may call; work is put on the stream.
#pragma once

#include <cuda_runtime.h>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

// out = in rounded to out's type (bf16 or fp16). Moves 6 bytes per value.
void LaunchRound(int64_t count, Buffer out, const float* in, const StochasticRounding& rounding,
                 cudaStream_t stream);

// out = in, rounded to nearest even if out's type is narrower. `out` must not overlap `in`, unless
// both are the same buffer with the same type.
void LaunchConvert(int64_t count, Buffer out, Buffer in, cudaStream_t stream);

// out = a * x + b * y, or a * x without y; out may be x or y. Each product is rounded before the
// sum, so that separate passes give the same bits. Moves 12 bytes per value (8 without y).
void LaunchAxpby(int64_t count, float* out, float a, const float* x, float b, const float* y,
                 cudaStream_t stream);

}  // namespace gp::engine
