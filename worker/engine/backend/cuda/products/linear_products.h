// LinearProducts: the three products of a Linear layer on the device. It chooses the epilogue of
// cuBLASLt for the bias, GELU and sums, or a kernel when no epilogue can do it or the kernel is
// faster. Belongs to the backend. One thread calls.
#pragma once

#include <functional>
#include <utility>

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cuda/products/cublas_lt.h"
#include "worker/engine/backend/cuda/products/fp8_operands.h"
#include "worker/engine/backend/cuda/runtime/scratch_memory.h"

namespace gp::engine {

struct LinearOptions {
  bool tf32 = false;
  bool fp8 = false;  // for products with may_be_fp8
  // GELU is computed from the stored values, as the CPU does, and never inside a product.
  bool exact_gelu = false;
  // Queues nothing and reads no memory: only makes the plans of `products` for what would be
  // computed.
  bool dry = false;
};

class LinearProducts {
 public:
  // Both must outlive this object.
  LinearProducts(CublasLt& products, ScratchMemory& scratch, cudaStream_t stream,
                 const LinearOptions& options);

  // Called once for each kind of product with an epilogue that has no choice. Returns whether
  // `whole`, which queues the product with its epilogue, is faster than `apart`, which queues a
  // plain product and the kernels for the rest. It may call both any number of times. Only for
  // tuning.
  using Work = std::function<void()>;
  using Judge = std::function<bool(const Work& whole, const Work& apart)>;
  void set_judge(Judge judge) { judge_ = std::move(judge); }

  // Like Backend's operations with the same arguments.
  void Forward(const LinearForward& args);
  void BackwardInput(const LinearBackwardInput& args);
  void BackwardWeight(const LinearBackwardWeight& args);

 private:
  // The gradient of a bias: dbias (count) (+)= sums.
  struct BiasSums {
    int64_t count;
    float* dbias;
    bool accumulate;
  };

  void Run(const Product& product);
  // Queues the work that follows a product; does nothing in a dry run.
  template <typename Launch>
  void Then(const Launch& launch) {
    if (!options_.dry) launch();
  }
  // Runs `whole`, which queues `fused`, or `apart`.
  void RunEither(const Product& fused, const Work& whole, const Work& apart);
  bool IsBetterFused(const Product& fused) const;
  void RunInput(const LinearBackwardInput& args, const Product& plain);
  Buffer SumsFor(const BiasSums& bias, DataType type);
  void KeepSums(const BiasSums& bias, Buffer sums, float* wide);
  bool MayBeFp8(bool asked, DataType type, const LinearShape& shape) const;
  ProductOperand Fp8Rows(Buffer matrix, int64_t rows, int64_t columns, Fp8Format format);
  ProductOperand Fp8Columns(Buffer matrix, int64_t rows, int64_t columns, Fp8Format format);
  // cuBLASLt does not fuse GELU into an fp32 product without TF32.
  bool FusesGelu(runspec::Gelu kind, DataType type) const {
    return kind == runspec::Gelu::kTanh && !options_.exact_gelu &&
           (type != DataType::kFloat32 || options_.tf32);
  }
  bool FusesGeluGradient(const LinearBackwardInput& args) const {
    return args.pre_gelu.data != nullptr && FusesGelu(args.kind, args.dx.type);
  }
  static Product GeluGradientProduct(const LinearBackwardInput& args, const Product& plain);
  Product ForwardProduct(const LinearForward& args);
  Product InputProduct(const LinearBackwardInput& args);
  Product WeightProduct(const LinearBackwardWeight& args) const;

  CublasLt& products_;
  ScratchMemory& scratch_;
  const cudaStream_t stream_;
  const LinearOptions options_;
  Fp8Operands fp8_;
  Judge judge_;
};

}  // namespace gp::engine
