// CublasLt: matrix products with cuBLASLt. Descriptors and the algorithm are made once per kind of
// product. An epilogue computes bias, GELU, its gradient, or the sums for a bias gradient in the
// same pass. Matrices are row-major, sums fp32. Every stream needs its own object, because one
// product at a time uses the workspace. One thread calls.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/gpu_workspace.h"
#include "worker/engine/backend/cuda/products/gemm_choices.h"
#include "worker/engine/backend/cuda/products/product.h"

namespace gp::engine {

class CublasLt {
 public:
  static constexpr int64_t kWorkspaceBytes = runspec::kMatmulWorkspaceBytes;

  // `workspace` holds kWorkspaceBytes of device memory and must outlive this object. Throws
  // std::runtime_error when cuBLASLt cannot start.
  explicit CublasLt(void* workspace, GemmChoices choices = {});
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  // Whether cuBLASLt computes this kind of product on this device and the choices do not exclude
  // it.
  bool Supports(const Product& product);
  // Queues the product. Throws std::runtime_error when it is not supported.
  void Run(const Product& product, cudaStream_t stream);

  // Called once for each kind of product without a choice, with a product whose memory may be
  // overwritten. The returned algorithm is used from then on. Only for tuning.
  using Judge = std::function<cublasLtMatmulAlgo_t(
      const Product& product, const std::vector<cublasLtMatmulAlgo_t>& candidates)>;
  void set_judge(Judge judge) { judge_ = std::move(judge); }

  // Whether this kind of product has a fusion choice, from the record or from SetFusionChoice: to
  // be computed with its epilogue, or in separate passes.
  bool HasFusionChoice(const Product& product);
  void SetFusionChoice(const Product& product, bool is_fused);

  // The choices for every kind of product that was computed so far.
  GemmChoices InUse() const;

  // The algorithms that cuBLASLt offers for the product, in the order of the speed that it expects.
  std::vector<cublasLtMatmulAlgo_t> Candidates(const Product& product, int count_max);
  // Queues the product with one of these candidates; returns false if cuBLASLt refuses it.
  bool TryRun(const Product& product, const cublasLtMatmulAlgo_t& algorithm, cudaStream_t stream);

 private:
  struct Plan;

  Plan& PlanOf(const Product& product);
  std::unique_ptr<Plan> MakePlan(const Product& product, const ProductKind& kind);
  std::vector<cublasLtMatmulHeuristicResult_t> Heuristics(const Plan& plan, const ProductKind& kind,
                                                          int count_max);
  bool UseChosen(const std::string& encoded, Plan& plan);
  void AskJudge(const Product& product, Plan& plan);
  cublasStatus_t Queue(const Product& product, Plan& plan, const cublasLtMatmulAlgo_t& algorithm,
                       cudaStream_t stream);

  cublasLtHandle_t handle_ = nullptr;
  void* const workspace_;
  GemmChoices choices_;
  Judge judge_;
  std::map<ProductKind, std::unique_ptr<Plan>> plans_;
};

// The algorithm as hexadecimal digits, for GemmChoices.
std::string EncodeAlgorithm(const cublasLtMatmulAlgo_t& algorithm);

// "cuBLASLt 13.1.0": an encoded algorithm is valid for one version only.
std::string CublasLtVersion();

}  // namespace gp::engine
