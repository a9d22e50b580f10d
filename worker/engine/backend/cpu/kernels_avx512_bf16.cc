// The kernels for AVX-512 with vdpbf16ps. CMakeLists.txt gives this file its instruction-set flags.
#define GP_ISA_NAMESPACE avx512_bf16_kernels
#define GP_ISA_WIDTH 16
#define GP_ISA_BF16
#include "worker/engine/backend/cpu/kernels/make_kernel_set.h"

namespace gp::engine {

const KernelSet& Avx512Bf16Kernels() { return avx512_bf16_kernels::kKernels; }

}  // namespace gp::engine
