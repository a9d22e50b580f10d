// Adds a bias to the rows of a matrix, for products whose epilogue cannot do it. Any thread may
// call; work is put on the stream.
#pragma once

#include <cuda_runtime.h>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

// y (rows, columns) += bias (columns), in fp32 and rounded once; each in its own type. Moves 2
// elements per value.
void LaunchAddBias(int64_t rows, int64_t columns, Buffer y, Buffer bias, cudaStream_t stream);

}  // namespace gp::engine
