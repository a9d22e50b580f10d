// FLOPs of training, and the MFU (model FLOPs utilization) that follows from them. Standard library
// only. Pure functions; thread-safe.
#pragma once

#include <cstdint>

#include "plan/model_part.h"
#include "plan/model_shape.h"

namespace gp::runspec {

// Causal-exact FLOPs per token, forward and backward, at sequence length T: 6 per matrix weight
// (head included), and 7*L*C*(T+1) for attention: each query attends to (T+1)/2 keys on average;
// two products forward, five backward (every flash attention recomputes QK^T there). 807.5 MFLOP
// for padded 124M at T = 1024. Counts only work that is done: no gradients of frozen weights, and
// no backward pass of forward-only blocks. What engine.recompute repeats is not counted.
double TrainingFlopsPerToken(const ModelShape& shape, int64_t sequence,
                             const TrainedParts& parts = {});

// The fraction of `peak_flops` (FLOP/s, above 0) that training at this speed uses. The peak of GPUs
// is in worker/engine/backend/peak_flops.h; a CPU's is measured (backend/cpu/measured_peak.h).
double ModelFlopsUtilization(double tokens_per_second, double flops_per_token, double peak_flops);

}  // namespace gp::runspec
