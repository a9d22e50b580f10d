// The kernels for any x86-64 processor. CMakeLists.txt gives this file its instruction-set flags.
#define GP_ISA_NAMESPACE generic_kernels
#define GP_ISA_WIDTH 4
#include "worker/engine/backend/cpu/kernels/make_kernel_set.h"

namespace gp::engine {

const KernelSet& GenericKernels() { return generic_kernels::kKernels; }

}  // namespace gp::engine
