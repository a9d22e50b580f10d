// AttentionKernels: one way to compute causal attention without storing the scores. The backend
// first tries cuDNN, which may decline a call, then our own flash kernel, which accepts every call
// unless heads are too large. Belongs to the backend. One thread calls.
#pragma once

#include <cuda_runtime.h>

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cuda/kernels/attention/flash_attention.h"

namespace gp::engine {

class AttentionKernels {
 public:
  virtual ~AttentionKernels() = default;

  // "cudnn 91900", "flash"; goes to DeviceChoices::attention.
  virtual const char* name() const = 0;
  // Whether the kernels support the call. Depends only on the arguments, so the kernels that
  // compute the forward pass also compute the backward pass.
  virtual bool Takes(const AttentionShape& shape, DataType type, const Dropout& dropout) const = 0;
  // As in kernels/attention/flash_attention.h; `math` and `dots` may be ignored. Work is put on the
  // stream.
  virtual void Forward(const FlashForward& args, cudaStream_t stream) = 0;
  virtual void Backward(const FlashBackward& args, cudaStream_t stream) = 0;
  // Device memory that the kernels hold in addition to the planned workspace.
  virtual int64_t device_bytes() const { return 0; }
};

}  // namespace gp::engine
