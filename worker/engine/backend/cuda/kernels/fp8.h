// Eight-bit floating point operands for matrix products: one scale per tensor, kept in device
// memory and computed from the tensor itself ("current scaling"). Any thread may call; work is put
// on the stream. Formats: Micikevicius et al. 2022, arXiv:2209.05433.
#pragma once

#include <cuda_runtime.h>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

// e4m3: 4 exponent and 3 mantissa bits, largest 448, no infinity. e5m2: largest finite 57344.
enum class Fp8Format { kE4m3, kE5m2 };

constexpr float LargestOf(Fp8Format format) {
  return format == Fp8Format::kE4m3 ? 448.0f : 57344.0f;
}

// *maximum = the largest |in[i]|, or NaN if an element is NaN; 0 for an empty buffer. An integer
// maximum of bit patterns: any order gives the same bits.
void LaunchAbsoluteMaximum(float* maximum, Buffer in, int64_t count, cudaStream_t stream);

// in (rows, columns) times scale = largest / *maximum, rounded to nearest even and saturated, into
// `out` (rows, columns) and, if present, `transposed` (columns, rows): FP8 products take both
// operands with the summed axis contiguous. *inverse_scale = 1 / scale multiplies the product. A
// maximum of 0 (or so small that the scale would overflow) gives the scale 1; one that is not
// finite gives NaNs, so that the step's norm shows it. Reads the tensor once.
struct Fp8Quantization {
  int64_t rows = 0;
  int64_t columns = 0;
  Buffer in;
  const float* maximum = nullptr;
  Fp8Format format = Fp8Format::kE4m3;
  uint8_t* out = nullptr;
  uint8_t* transposed = nullptr;   // or absent
  float* inverse_scale = nullptr;  // one float
};
void LaunchFp8Quantization(const Fp8Quantization& args, cudaStream_t stream);

}  // namespace gp::engine
