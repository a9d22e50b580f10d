// Cross-entropy over rows of logits: the loss, its gradient in place of the logits, or both with
// one read and one write of memory. Arguments are the Backend's; all pointers are device memory,
// Buffers are aligned to 16 bytes. Any thread may call; work is put on the stream.
//
// Arithmetic is fp32 and the gradient is rounded only once, also at the target. Losses are added up
// in double, in an order that depends on the number of rows alone. If a logit is not finite, the
// loss and the gradient of its row are not finite either, unless the row is ignored.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cuda/kernels/device_limits.h"

namespace gp::engine {

// *loss += the sum of the losses; also writes lse. `row_losses` (rows) is scratch.
void LaunchCrossEntropyForward(const CrossEntropyLoss& args, float* row_losses,
                               cudaStream_t stream);

// logits := scale * *loss_scale * (softmax - onehot), given lse; 0 in padding columns and ignored
// rows.
void LaunchCrossEntropyBackward(const CrossEntropyGradient& args, cudaStream_t stream);

// Forward, then backward of the same logits and lse, in one kernel. A row that fits into
// `shared_bytes` is read from memory once (bf16: 50304 columns are 98 KiB), a longer one twice.
void LaunchCrossEntropy(const CrossEntropyLoss& forward, const CrossEntropyGradient& backward,
                        float* row_losses, cudaStream_t stream,
                        int64_t shared_bytes = SharedBytesOfDevice());

}  // namespace gp::engine
