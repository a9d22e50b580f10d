// The kernels for AVX2 with FMA. CMakeLists.txt gives this file its instruction-set flags.
#define GP_ISA_NAMESPACE avx2_kernels
#define GP_ISA_WIDTH 8
#include "worker/engine/backend/cpu/kernels/make_kernel_set.h"

namespace gp::engine {

const KernelSet& Avx2Kernels() { return avx2_kernels::kKernels; }

}  // namespace gp::engine
