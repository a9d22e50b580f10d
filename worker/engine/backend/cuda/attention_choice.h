// Which kernels compute attention without stored scores on a device: cuDNN where it is there, may
// be used and computes what math attention does; our own flash kernel for the rest. Called once,
// before the first operation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/engine/backend/cuda/attention.h"
#include "worker/engine/backend/cuda/cuda_backend.h"
#include "worker/engine/backend/cuda/cuda_device.h"
#include "worker/engine/backend/cuda/math_attention.h"
#include "worker/engine/backend/cuda/runtime.h"
#include "worker/engine/backend/cuda/scratch_memory.h"

namespace gp::engine {

struct AttentionChoice {
  std::vector<std::unique_ptr<AttentionKernels>> kernels;  // the first that takes a call does it
  // Name of the first; empty for math attention.
  std::string name;
  std::vector<std::string> notes;  // what was passed over or takes more than planned
};

// Throws std::invalid_argument when the options ask for cuDNN and nothing else and it cannot be
// had, or when nothing computes what math attention does.
AttentionChoice ChooseAttention(const CudaBackendOptions& options, const CudaDevice& device,
                                CudaMathAttention& math, const CudaStream& stream,
                                ScratchMemory& scratch);

}  // namespace gp::engine
