// The sum of squares of a flat buffer in double, deterministic: block sums, then one block over
// them. Any thread may call; work is put on the stream.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace gp::engine {

// Doubles of `scratch` that a sum over any count needs.
inline constexpr int64_t kSumOfSquaresScratch = 1024;

// *sum = the sum of values[i]^2. Squares and sums are double and the order depends only on `count`.
// The sum is finite if and only if all values are: the square of a finite float is a finite double.
// Moves 4 bytes per value.
void LaunchSumOfSquares(double* sum, const float* values, int64_t count, double* scratch,
                        cudaStream_t stream);

}  // namespace gp::engine
