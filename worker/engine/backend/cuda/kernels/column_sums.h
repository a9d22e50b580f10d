// Sums of the columns of a matrix (the gradient of a bias), deterministic: partial sums of row
// ranges, then one sum over those. Any thread may call; work is put on the stream.
#pragma once

#include <cuda_runtime.h>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

// Row ranges whose partial sums are kept: a function of the number of rows only, so that the order
// of summation is too.
int64_t ColumnSumParts(int64_t rows);

// Floats of `scratch` that LaunchColumnSums needs for a matrix (rows, columns).
inline int64_t ColumnSumsScratch(int64_t rows, int64_t columns) {
  return ColumnSumParts(rows) * columns;
}

// sums (columns) (+)= the sums of the columns of `in` (rows, columns), in fp32. Moves the matrix
// once.
void LaunchColumnSums(Buffer in, int64_t rows, int64_t columns, float* sums, bool accumulate,
                      float* scratch, cudaStream_t stream);

}  // namespace gp::engine
