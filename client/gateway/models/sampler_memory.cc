#include "client/gateway/models/sampler_memory.h"

#include "formats/recorded_precision.h"
#include "runspec/sampler_plan.h"

namespace gp::gateway {

StatusOr<uint64_t> SamplerMemory(const formats::CheckpointManifest& manifest,
                                 const SamplerMemoryOptions& options) {
  ASSIGN_OR_RETURN(const auto asked, formats::ParseInferencePrecision(options.precision));
  ASSIGN_OR_RETURN(const auto precision, formats::InferencePrecision(asked, manifest));
  ASSIGN_OR_RETURN(
      const runspec::SamplerPlan plan,
      runspec::MakeSamplerPlan(manifest.shape, {.precision = precision,
                                                .threads = options.threads,
                                                .streams_max = options.streams,
                                                .memory_bytes = options.memory_bytes_max}));
  return plan.total_bytes;
}

}  // namespace gp::gateway
