// Which kernels compute attention without stored scores on a device: cuDNN if it is installed and
// agrees with math attention; then our own flash kernel, for the calls that cuDNN declines or for
// all. engine.attention: own leaves out cuDNN, and so does a deterministic run with a cuDNN that
// needs more memory than planned, unless engine.attention is cudnn. Called once, before the first
// operation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/engine/backend/cuda/attention/attention.h"
#include "worker/engine/backend/cuda/attention/math_attention.h"
#include "worker/engine/backend/cuda/cuda_backend.h"
#include "worker/engine/backend/cuda/runtime/cuda_device.h"
#include "worker/engine/backend/cuda/runtime/runtime.h"
#include "worker/engine/backend/cuda/runtime/scratch_memory.h"

namespace gp::engine {

struct AttentionChoice {
  // For each call, the first kernels that support it compute it.
  std::vector<std::unique_ptr<AttentionKernels>> kernels;
  // Name of the first; empty for math attention.
  std::string name;
  // Kernels that are not used, or that need more memory than planned.
  std::vector<std::string> notes;
};

// Throws std::invalid_argument when the options allow only cuDNN and it cannot be used, or when no
// kernels agree with math attention.
AttentionChoice ChooseAttention(const CudaBackendOptions& options, const CudaDevice& device,
                                CudaMathAttention& math, const CudaStream& stream,
                                ScratchMemory& scratch);

}  // namespace gp::engine
