#include "worker/engine/backend/cuda/flash_attention.h"

namespace gp::engine {

bool FlashAttention::Takes(const AttentionShape& shape, DataType /*type*/,
                           const Dropout& /*dropout*/) const {
  return shape.head_size <= kFlashHeadSizeMax;
}

void FlashAttention::Forward(const FlashForward& args, cudaStream_t stream) {
  FlashForward best = args;
  best.math = BestFlashMath(args.shape, args.qkv.type, capability_major_);
  LaunchFlashForward(best, stream);
}

void FlashAttention::Backward(const FlashBackward& args, cudaStream_t stream) {
  FlashBackward best = args;
  best.math = BestFlashMath(args.shape, args.qkv.type, capability_major_);
  LaunchFlashBackward(best, stream);
}

}  // namespace gp::engine
