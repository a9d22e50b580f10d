// AttentionCheck: compares attention kernels with math attention on this device, at the size that
// training will use. Some cuDNN kernels were wrong (pytorch#196678, cudnn-frontend#160), so a run
// checks before its first step. Owned by the code that chooses. One thread calls; memory is held
// only during the call.
#pragma once

#include <string>

#include "worker/engine/backend/cuda/attention/attention.h"
#include "worker/engine/backend/cuda/attention/math_attention.h"
#include "worker/engine/backend/cuda/runtime/runtime.h"
#include "worker/engine/backend/cuda/runtime/scratch_memory.h"

namespace gp::engine {

class AttentionCheck {
 public:
  // Limit for the memory of math attention's scores and their gradients. When a sequence needs
  // more, only its beginning is compared.
  static constexpr int64_t kScoreBytesMax = int64_t{1} << 30;

  // `math` and `stream` must outlive this object.
  AttentionCheck(const AttentionShape& shape, DataType type, bool tf32, CudaMathAttention& math,
                 const CudaStream& stream, int64_t score_bytes_max = kScoreBytesMax)
      : shape_(shape),
        type_(type),
        tf32_(tf32),
        math_(math),
        stream_(stream),
        score_bytes_max_(score_bytes_max) {}

  // Empty when `kernels` agree with math attention on seeded inputs, forwards and backwards; or
  // when they do not support such a call. Otherwise says what differs and by how much.
  std::string DifferenceOf(AttentionKernels& kernels, ScratchMemory& scratch) const;

 private:
  AttentionShape ComparedShape() const;

  const AttentionShape shape_;
  const DataType type_;
  const bool tf32_;
  CudaMathAttention& math_;
  const CudaStream& stream_;
  const int64_t score_bytes_max_;
};

}  // namespace gp::engine
