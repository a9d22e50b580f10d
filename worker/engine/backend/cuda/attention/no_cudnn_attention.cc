// Replaces cudnn_attention.cc in a build without cuDNN.
#include "worker/engine/backend/cuda/attention/cudnn_attention.h"

namespace gp::engine {

CudnnAttentionMade MakeCudnnAttention(const CudnnAttentionOptions& /*options*/,
                                      ScratchMemory& /*scratch*/) {
  return {.kernels = nullptr, .why_not = "is not part of this build"};
}

}  // namespace gp::engine
