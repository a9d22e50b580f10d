// The memory of a process that samples from one checkpoint (gp-sampler): computed before it starts,
// by whoever has to find room for it and by the process itself. Pure functions; thread-safe.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "runspec/model_shape.h"
#include "runspec/run_spec.h"

namespace gp::runspec {

struct SamplerPlanOptions {
  Precision precision = Precision::kFp32;  // kFp32 or kBf16
  int threads = 1;
  int64_t streams_max = 1;    // texts at a time
  int64_t prompt_rows = 64;   // tokens of prompts that a pass reads at most
  uint64_t memory_bytes = 0;  // that may be taken
};

struct SamplerPlan {
  int64_t streams = 0;       // as many as fit, at least one
  uint64_t total_bytes = 0;  // weights, cache of keys and values, buffers
};

// ResourceExhausted says how much one stream needs when not even that fits.
StatusOr<SamplerPlan> MakeSamplerPlan(const ModelShape& shape, const SamplerPlanOptions& options);

}  // namespace gp::runspec
