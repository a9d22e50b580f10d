// Product: one matrix product on a device, with the work on its result in the same pass.
// ProductKind: everything that the choice of an algorithm depends on. Matrices are row-major, sums
// fp32. Values and pure functions; any thread.
#pragma once

#include <cublasLt.h>

#include <compare>
#include <cstdint>
#include <string>

namespace gp::engine {

// One matrix of a product as stored in memory: rows of `stride` elements. `transposed`: the product
// uses it with rows and columns exchanged.
struct ProductOperand {
  const void* data = nullptr;
  cudaDataType_t type = CUDA_R_32F;
  int64_t stride = 0;
  bool transposed = false;
  int64_t batch_stride = 0;      // elements from one matrix of the batch to the next
  const float* scale = nullptr;  // device memory; the values are the elements times this
};

enum class ProductEpilogue {
  kNone,
  kGelu,                 // aux = the product (and bias), d = Gelu(aux), tanh form
  kGeluGradient,         // d = the product times Gelu'(aux), tanh form
  kGeluGradientAndSums,  // the same, and sums (n) = the sums of d's columns before d is rounded
  kSumsOfA,              // sums (m) = the sums of a's rows as the product takes them
};

// d (m, n) (+)= alpha * a (m, k) b (k, n), `batch` times.
struct Product {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t batch = 1;
  ProductOperand a;
  ProductOperand b;
  void* d = nullptr;
  cudaDataType_t d_type = CUDA_R_32F;
  int64_t d_stride = 0;
  int64_t d_batch_stride = 0;
  float alpha = 1;
  bool accumulate = false;
  const void* added = nullptr;  // what accumulate adds, stored like d; absent: d itself
  bool tf32 = false;            // fp32 operands are rounded to TF32
  ProductEpilogue epilogue = ProductEpilogue::kNone;
  const void* bias = nullptr;  // (n) of d's type, or absent
  void* aux = nullptr;         // (m, n) of d's type
  void* sums = nullptr;        // overwritten; of d's type, which for kSumsOfA is fp32
};

// The properties of a product from which cuBLASLt chooses an algorithm.
struct ProductKind {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  int64_t a_stride = 0, b_stride = 0, d_stride = 0;
  int64_t a_batch_stride = 0, b_batch_stride = 0, d_batch_stride = 0;
  int a_type = 0, b_type = 0, d_type = 0;
  bool a_transposed = false, b_transposed = false;
  bool accumulate = false, tf32 = false, has_bias = false;
  ProductEpilogue epilogue = ProductEpilogue::kNone;
  // Alignment of the operands' addresses, in bytes; 16 when it is larger.
  int a_alignment = 1, b_alignment = 1, d_alignment = 1;

  auto operator<=>(const ProductKind&) const = default;

  // The name in choices and messages, without blanks: "65536x768x768_bf16xbf16-fp32_tn_sums".
  std::string Text() const;
};

ProductKind KindOf(const Product& product);

}  // namespace gp::engine
