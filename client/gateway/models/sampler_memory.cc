#include "client/gateway/models/sampler_memory.h"

#include "runspec/run_spec.h"
#include "runspec/sampler_plan.h"

namespace gp::gateway {
namespace {

// As the sampler decides it: what the run computed with, or the nearest that sampling has.
runspec::Precision PrecisionOf(const formats::CheckpointManifest& manifest,
                               const std::string& asked) {
  std::string name = asked;
  const auto recorded = manifest.record.find("precision");
  if (asked == "auto" && recorded != manifest.record.end()) name = recorded->second;
  const bool half = name == "bf16" || name == "fp8";
  return half ? runspec::Precision::kBf16 : runspec::Precision::kFp32;
}

}  // namespace

StatusOr<uint64_t> SamplerMemory(const formats::CheckpointManifest& manifest,
                                 const SamplerMemoryOptions& options) {
  ASSIGN_OR_RETURN(const runspec::SamplerPlan plan,
                   runspec::MakeSamplerPlan(manifest.shape,
                                            {.precision = PrecisionOf(manifest, options.precision),
                                             .threads = options.threads,
                                             .streams_max = options.streams,
                                             .memory_bytes = options.memory_bytes_max}));
  return plan.total_bytes;
}

}  // namespace gp::gateway
