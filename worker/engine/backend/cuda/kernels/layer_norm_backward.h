// The gradient of LayerNorm, added to the gradient of the residual stream in one pass. All pointers
// are device memory, rows are contiguous, Buffers are aligned to 16 bytes. Any thread may call;
// work is put on the stream.
//
// With xhat = (in - mean) * rstd and d = dout * gamma:
//   din (+)= rstd * (d - mean(d) - xhat * mean(d * xhat))
//   dgamma (+)= the sum over rows of dout * xhat, dbeta of dout
// No atomics: sums run in an order that depends on rows, channels and types alone, and that of
// dbias also on the shared memory of the device.
#pragma once

#include <cuda_runtime.h>

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cuda/kernels/device_limits.h"

namespace gp::engine {

struct LayerNormBackwardArgs {
  LayerNormBackward norm;
  // LayerNormBackwardScratch(rows, channels) floats; overwritten.
  float* scratch = nullptr;
  // With `dbranch`: also dbranch = dropout(din) of the new din, in the type of dout: the gradient
  // of the branch that was added to make `in`.
  Buffer dbranch;
  Dropout dropout;
  // With `dbias` (channels), which needs dbranch: dbias (+)= the column sums of dbranch as stored;
  // accumulates if accumulate_parameters is set.
  float* dbias = nullptr;
};

// Floats of `scratch`, enough for every type.
int64_t LayerNormBackwardScratch(int64_t rows, int64_t channels);

// dbias needs no extra pass over dbranch for up to 1600 channels of a 16-bit type, if
// `shared_bytes` is large enough (768 channels: 57 KiB). Throws std::invalid_argument for more than
// 4096 channels: four rows of fp32 have to fit into the shared memory that every device has.
void LaunchLayerNormBackward(const LayerNormBackwardArgs& args, cudaStream_t stream,
                             int64_t shared_bytes = SharedBytesOfDevice());

}  // namespace gp::engine
