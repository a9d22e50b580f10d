// AttentionTuning: which of cuDNN's plans compute attention, found by timing them on this device.
// The choices lie beside those of the matrix products, in the device's file and in the run's
// record, because another plan sums in another order. Any thread, one at a time.
#pragma once

#include "worker/engine/backend/cuda/cuda_backend.h"
#include "worker/engine/backend/cuda/cuda_device.h"
#include "worker/engine/backend/cuda/cudnn_attention.h"
#include "worker/engine/backend/cuda/gemm_choices.h"

namespace gp::engine {

// What a backend with `options` asks of cuDNN, with the plans that options.gemms has.
CudnnAttentionOptions CudnnOptionsOf(const CudaBackendOptions& options);

// The entries of `known` for the attention of this backend; the fastest by timing where it has
// none. Empty where cuDNN computes no attention. During the call it holds device memory for one
// attention. GP_ATTENTION_PLANS=0 turns it off, to measure what it brings.
GemmChoices TuneAttention(const CudaBackendOptions& options, const CudaDevice& device,
                          const GemmChoices& known);

}  // namespace gp::engine
