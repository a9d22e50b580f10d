// Computes the memory of a process that samples from one checkpoint (gp-sampler). Both the program
// that starts the process and the process itself use this. Pure functions; thread-safe.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "plan/model_shape.h"
#include "plan/run_spec.h"

namespace gp::runspec {

struct SamplerPlanOptions {
  Precision precision = Precision::kFp32;  // kFp32 or kBf16
  int threads = 1;
  int64_t streams_max = 1;    // texts written at the same time
  int64_t prompt_rows = 64;   // most prompt tokens that one pass reads
  uint64_t memory_bytes = 0;  // memory that the sampler may use
};

struct SamplerPlan {
  int64_t streams = 0;       // as many as fit, from 1 to streams_max
  uint64_t total_bytes = 0;  // weights, cache of keys and values, buffers
};

// ResourceExhausted, with the memory for one stream, when not even one stream fits.
StatusOr<SamplerPlan> MakeSamplerPlan(const ModelShape& shape, const SamplerPlanOptions& options);

}  // namespace gp::runspec
