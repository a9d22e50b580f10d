#include "worker/engine/backend/cpu/kernels/kernel_set.h"

namespace gp::engine {

const KernelSet& KernelsOf(Isa isa) {
  switch (ResolveIsa(isa)) {
    case Isa::kAvx2:
      return Avx2Kernels();
    case Isa::kAvx512:
      return Avx512Kernels();
    case Isa::kAvx512Bf16:
      return Avx512Bf16Kernels();
    case Isa::kAuto:
    case Isa::kGeneric:
      break;
  }
  return GenericKernels();
}

}  // namespace gp::engine
