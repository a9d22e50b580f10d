#include "worker/engine/backend/cuda/attention/flash_attention.h"

namespace gp::engine {
namespace {

// Cards of compute capability 7.x have too little shared memory for the backward pass of a larger
// head.
constexpr int kOldCardMajor = 7;
constexpr int64_t kOldCardHeadSizeMax = 128;

}  // namespace

bool FlashAttention::Takes(const AttentionShape& shape, DataType /*type*/,
                           const Dropout& /*dropout*/) const {
  const bool old_card = capability_major_ <= kOldCardMajor;
  return shape.head_size <= (old_card ? kOldCardHeadSizeMax : kFlashHeadSizeMax);
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
