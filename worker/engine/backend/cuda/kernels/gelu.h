// GELU (Hendrycks & Gimpel 2016, arXiv:1606.08415) in both forms, and its derivative, for products
// whose epilogue cannot do it. Any thread may call; work is put on the stream.
#pragma once

#include <cuda_runtime.h>

#include "plan/model_shape.h"
#include "worker/engine/backend/backend.h"

namespace gp::engine {

// out = Gelu(in), elementwise; computed in fp32. out and in have one type and may be the same.
// Moves 2 elements per value.
void LaunchGeluForward(int64_t count, runspec::Gelu kind, Buffer out, Buffer in,
                       cudaStream_t stream);

// dy *= Gelu'(in), in place, one rounding; dy and in have one type. Moves 3 elements per value.
void LaunchGeluBackward(int64_t count, runspec::Gelu kind, Buffer dy, Buffer in,
                        cudaStream_t stream);

}  // namespace gp::engine
