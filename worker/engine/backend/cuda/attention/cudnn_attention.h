// CudnnAttention: cuDNN 9's flash attention directly on packed qkv, without dropout and for one
// size only: plans take long to make, so the flash kernel computes other sizes and types. cuDNN is
// opened at run time; a build for the emulation has none (no_cudnn_attention.cc). Belongs to the
// backend.
#pragma once

#include <memory>
#include <string>

#include "worker/engine/backend/cuda/attention/attention.h"
#include "worker/engine/backend/cuda/runtime/scratch_memory.h"

namespace gp::engine {

struct CudnnAttentionOptions {
  AttentionShape shape;
  DataType type = DataType::kBfloat16;
  // True: use cuDNN's deterministic backward pass. The other backward pass adds up dq in the order
  // in which blocks finish.
  bool deterministic = true;
};

// Why cuDNN cannot compute attention of this size and type on any machine; empty if it may be able
// to.
inline std::string WhyCudnnRefuses(const CudnnAttentionOptions& options) {
  if (options.type == DataType::kFloat32) return "computes in bf16 and fp16 only";
  if (options.shape.head_size % 8 != 0 || options.shape.head_size > 128) {
    return "takes heads of a multiple of 8 channels, at most 128";
  }
  return "";
}

// The result of AttentionKernels::Takes for kernels that were made with these options.
inline bool CudnnTakes(const CudnnAttentionOptions& options, const AttentionShape& shape,
                       DataType type, const Dropout& dropout) {
  return dropout.probability == 0 && type == options.type &&
         shape.sequences == options.shape.sequences && shape.length == options.shape.length &&
         shape.heads == options.shape.heads && shape.head_size == options.shape.head_size;
}

struct CudnnAttentionMade {
  std::unique_ptr<AttentionKernels> kernels;  // null if there are none, see why_not
  std::string why_not;
};

// `scratch` must outlive the kernels, which take their workspace from it (and allocate memory of
// their own if cuDNN needs more than it has). Any failure becomes `why_not`, not an exception.
CudnnAttentionMade MakeCudnnAttention(const CudnnAttentionOptions& options, ScratchMemory& scratch);

}  // namespace gp::engine
