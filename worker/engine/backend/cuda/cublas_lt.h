// CublasLt: matrix products through cuBLASLt, with descriptors and algorithm made once per kind of
// product, and what follows a product in the same pass over its result (bias, GELU and its
// gradient, sums for a bias gradient). Matrices are row-major, sums fp32. The owner of a stream has
// one of its own: the workspace is in use by one product at a time. One thread calls.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cuda/gemm_choices.h"

namespace gp::engine {

// One matrix of a product as it lies in memory: rows of `stride` elements. `transposed`: the
// product takes it with rows and columns exchanged.
struct ProductOperand {
  const void* data = nullptr;
  cudaDataType_t type = CUDA_R_32F;
  int64_t stride = 0;
  bool transposed = false;
  int64_t batch_stride = 0;      // elements from one matrix of the batch to the next
  const float* scale = nullptr;  // device memory; what the elements stand for is them times this
};

enum class ProductEpilogue {
  kNone,
  kGelu,          // aux = the product (and bias), d = Gelu(aux), tanh form
  kGeluGradient,  // d = the product times Gelu'(aux), tanh form
  kSumsOfA,       // sums (m) = the sums of a's rows as the product takes them
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
  bool tf32 = false;  // fp32 operands are rounded to TF32
  ProductEpilogue epilogue = ProductEpilogue::kNone;
  const void* bias = nullptr;  // (n) of d's type, or absent
  void* aux = nullptr;         // (m, n) of d's type
  float* sums = nullptr;       // of d's type, which is fp32 then
};

// What cuBLASLt chooses an algorithm by.
struct ProductKind {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  int64_t a_stride = 0, b_stride = 0, d_stride = 0;
  int64_t a_batch_stride = 0, b_batch_stride = 0, d_batch_stride = 0;
  int a_type = 0, b_type = 0, d_type = 0;
  bool a_transposed = false, b_transposed = false;
  bool accumulate = false, tf32 = false, has_bias = false;
  ProductEpilogue epilogue = ProductEpilogue::kNone;
  // Of the addresses, in bytes, at most 16.
  int a_alignment = 1, b_alignment = 1, d_alignment = 1;

  auto operator<=>(const ProductKind&) const = default;

  // As choices and messages name it, without blanks: "65536x768x768_bf16xbf16-fp32_tn_sums".
  std::string Text() const;
};

ProductKind KindOf(const Product& product);

class CublasLt {
 public:
  // 32 MiB is what Hopper's kernels want (NVIDIA's documentation of cublasSetWorkspace).
  static constexpr int64_t kWorkspaceBytes = int64_t{32} << 20;

  // `workspace` holds kWorkspaceBytes of device memory and outlives me. Throws std::runtime_error
  // when cuBLASLt cannot start.
  explicit CublasLt(void* workspace, GemmChoices choices = {});
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  // Whether cuBLASLt computes such a product on this device.
  bool Supports(const Product& product);
  // Queues it. Throws std::runtime_error when it is not supported.
  void Run(const Product& product, cudaStream_t stream);

  // The algorithms that cuBLASLt offers for the product, what it thinks is the fastest first.
  std::vector<cublasLtMatmulAlgo_t> Candidates(const Product& product, int count_max);
  // Queues the product with one of these; false when it does not run.
  bool TryRun(const Product& product, const cublasLtMatmulAlgo_t& algorithm, cudaStream_t stream);

 private:
  struct Plan;

  Plan& PlanOf(const Product& product);
  std::unique_ptr<Plan> MakePlan(const Product& product, const ProductKind& kind);
  std::vector<cublasLtMatmulHeuristicResult_t> Heuristics(const Plan& plan, const ProductKind& kind,
                                                          int count_max);
  bool UseChosen(const std::string& encoded, Plan& plan);
  cublasStatus_t Queue(const Product& product, Plan& plan, const cublasLtMatmulAlgo_t& algorithm,
                       cudaStream_t stream);

  cublasLtHandle_t handle_ = nullptr;
  void* const workspace_;
  const GemmChoices choices_;
  std::map<ProductKind, std::unique_ptr<Plan>> plans_;
};

// As GemmChoices carries it.
std::string EncodeAlgorithm(const cublasLtMatmulAlgo_t& algorithm);

// "cuBLASLt 13.1.0": algorithms mean something to one version only.
std::string CublasLtVersion();

}  // namespace gp::engine
