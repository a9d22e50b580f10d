// Fp8Operands: rounds the operands of a product to FP8, each with a scale computed from its own
// values (current scaling). Weights and activations are e4m3, gradients e5m2. The copies live in
// the scratch memory of one operation. Belongs to the backend. One thread calls.
#pragma once

#include <cuda_runtime.h>

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cuda/kernels/fp8.h"
#include "worker/engine/backend/cuda/products/cublas_lt.h"
#include "worker/engine/backend/cuda/runtime/scratch_memory.h"

namespace gp::engine {

class Fp8Operands {
 public:
  // Bytes of scratch that both operands of a product of these sizes take.
  static int64_t ScratchBytes(const LinearShape& shape);
  // FP8 tensor cores take sizes in multiples of 16.
  static bool Fits(const LinearShape& shape) {
    return shape.rows % 16 == 0 && shape.in % 16 == 0 && shape.out % 16 == 0;
  }

  Fp8Operands(ScratchMemory& scratch, cudaStream_t stream) : scratch_(scratch), stream_(stream) {}

  // `matrix` (rows, columns) as an operand whose summed axis is its columns.
  ProductOperand Rows(Buffer matrix, int64_t rows, int64_t columns, Fp8Format format);
  // The same with the summed axis along its rows: a transposed copy (columns, rows).
  ProductOperand Columns(Buffer matrix, int64_t rows, int64_t columns, Fp8Format format);

 private:
  struct Copies {
    uint8_t* plain = nullptr;
    uint8_t* transposed = nullptr;
    float* inverse_scale = nullptr;
  };
  Copies Quantize(Buffer matrix, int64_t rows, int64_t columns, Fp8Format format, bool transpose);

  ScratchMemory& scratch_;
  const cudaStream_t stream_;
};

}  // namespace gp::engine
