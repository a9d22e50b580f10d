// The kernels for AVX-512 F, BW, DQ and VL. CMakeLists.txt gives this file its instruction-set
// flags.
#define GP_ISA_NAMESPACE avx512_kernels
#define GP_ISA_WIDTH 16
#include "worker/engine/backend/cpu/kernels/make_kernel_set.h"

namespace gp::engine {

const KernelSet& Avx512Kernels() { return avx512_kernels::kKernels; }

}  // namespace gp::engine
