// CudnnAttention: cuDNN 9's flash attention straight on packed qkv, without dropout, for one size:
// plans take long to make, so other sizes and types are left to the flash kernel. cuDNN is opened
// at run time; a build for the emulation has none (no_cudnn_attention.cc). Belongs to the backend.
#pragma once

#include <memory>
#include <string>

#include "worker/engine/backend/cuda/attention.h"
#include "worker/engine/backend/cuda/scratch_memory.h"

namespace gp::engine {

struct CudnnAttentionOptions {
  AttentionShape shape;
  DataType type = DataType::kBfloat16;
  // True: use cuDNN's deterministic backward pass. The other backward pass adds up dq in the order
  // in which blocks finish.
  bool deterministic = true;
};

struct CudnnAttentionMade {
  std::unique_ptr<AttentionKernels> kernels;  // null: why_not
  std::string why_not;
};

// `scratch` outlives the kernels, which take their workspace from it (and memory of their own where
// cuDNN wants more than it has). Any failure becomes `why_not`, not an exception.
CudnnAttentionMade MakeCudnnAttention(const CudnnAttentionOptions& options, ScratchMemory& scratch);

}  // namespace gp::engine
