// LinearProducts: the three products of a Linear layer on the device: which epilogue of cuBLASLt
// does what comes with them, and which kernel where none can. Belongs to the backend. One thread
// calls.
#pragma once

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cuda/cublas_lt.h"
#include "worker/engine/backend/cuda/fp8_operands.h"
#include "worker/engine/backend/cuda/scratch_memory.h"

namespace gp::engine {

struct LinearOptions {
  bool tf32 = false;
  bool fp8 = false;  // for products that may be
  // GELU is computed from the stored values, as the CPU does, and never inside a product.
  bool exact_gelu = false;
};

class LinearProducts {
 public:
  // Both outlive me.
  LinearProducts(CublasLt& products, ScratchMemory& scratch, cudaStream_t stream,
                 const LinearOptions& options)
      : products_(products),
        scratch_(scratch),
        stream_(stream),
        options_(options),
        fp8_(scratch, stream) {}

  // As Backend's operations of the same arguments.
  void Forward(const LinearForward& args);
  void BackwardInput(const LinearBackwardInput& args);
  void BackwardWeight(const LinearBackwardWeight& args);

 private:
  // The product with what `optional` adds, if cuBLASLt has that.
  bool RunWith(const Product& optional);
  bool MayBeFp8(bool asked, DataType type, const LinearShape& shape) const;
  bool FusesGelu(runspec::Gelu kind) const {
    return kind == runspec::Gelu::kTanh && !options_.exact_gelu;
  }
  Product ForwardProduct(const LinearForward& args);
  Product InputProduct(const LinearBackwardInput& args);

  CublasLt& products_;
  ScratchMemory& scratch_;
  const cudaStream_t stream_;
  const LinearOptions options_;
  Fp8Operands fp8_;
};

}  // namespace gp::engine
