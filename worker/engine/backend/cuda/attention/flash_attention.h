// FlashAttention: our own kernels (kernels/attention/flash_attention.h) as AttentionKernels: every
// type and length, with dropout, heads of up to kFlashHeadSizeMax channels (128 on cards before
// compute capability 8.0). Belongs to the backend.
#pragma once

#include "worker/engine/backend/cuda/attention/attention.h"

namespace gp::engine {

class FlashAttention final : public AttentionKernels {
 public:
  // The device's major compute capability selects the units that multiply.
  explicit FlashAttention(int capability_major) : capability_major_(capability_major) {}

  const char* name() const override { return "flash"; }
  bool Takes(const AttentionShape& shape, DataType type, const Dropout& dropout) const override;
  void Forward(const FlashForward& args, cudaStream_t stream) override;
  void Backward(const FlashBackward& args, cudaStream_t stream) override;

 private:
  const int capability_major_;
};

}  // namespace gp::engine
