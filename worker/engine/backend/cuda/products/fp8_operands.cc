#include "worker/engine/backend/cuda/products/fp8_operands.h"

#include <algorithm>

namespace gp::engine {
namespace {

constexpr int64_t kAlignment = 256;  // alignment of ScratchMemory

int64_t Padded(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

cudaDataType_t TypeOf(Fp8Format format) {
  return format == Fp8Format::kE4m3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
}

}  // namespace

int64_t Fp8Operands::ScratchBytes(const LinearShape& shape) {
  const int64_t scales = 2 * 2 * kAlignment;
  // The weight's transposed copy comes together with a plain one.
  return Padded(shape.rows * std::max(shape.in, shape.out)) + 2 * Padded(shape.in * shape.out) +
         scales;
}

ProductOperand Fp8Operands::Rows(Buffer matrix, int64_t rows, int64_t columns, Fp8Format format) {
  const Copies copies = Quantize(matrix, rows, columns, format, false);
  return {.data = copies.plain,
          .type = TypeOf(format),
          .stride = columns,
          .scale = copies.inverse_scale};
}

ProductOperand Fp8Operands::Columns(Buffer matrix, int64_t rows, int64_t columns,
                                    Fp8Format format) {
  const Copies copies = Quantize(matrix, rows, columns, format, true);
  return {.data = copies.transposed,
          .type = TypeOf(format),
          .stride = rows,
          .scale = copies.inverse_scale};
}

Fp8Operands::Copies Fp8Operands::Quantize(Buffer matrix, int64_t rows, int64_t columns,
                                          Fp8Format format, bool transpose) {
  const int64_t count = rows * columns;
  float* maximum = scratch_.Allocate<float>(1);
  Copies copies{.plain = scratch_.Allocate<uint8_t>(count),
                .transposed = transpose ? scratch_.Allocate<uint8_t>(count) : nullptr,
                .inverse_scale = scratch_.Allocate<float>(1)};
  LaunchAbsoluteMaximum(maximum, matrix, count, stream_);
  LaunchFp8Quantization({.rows = rows,
                         .columns = columns,
                         .in = matrix,
                         .maximum = maximum,
                         .format = format,
                         .out = copies.plain,
                         .transposed = copies.transposed,
                         .inverse_scale = copies.inverse_scale},
                        stream_);
  return copies;
}

}  // namespace gp::engine
