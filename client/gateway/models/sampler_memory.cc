#include "client/gateway/models/sampler_memory.h"

#include "runspec/decoder_plan.h"
#include "runspec/model_shape.h"

namespace gp::gateway {

StatusOr<uint64_t> SamplerMemory(const formats::CheckpointManifest& manifest,
                                 const SamplerMemoryOptions& options) {
  const auto parameters =
      static_cast<uint64_t>(runspec::MakeParameterLayout(manifest.shape).total_count);
  // The weights as they are read, and packed for the products.
  const uint64_t weights = parameters * 2 * sizeof(float);
  for (int64_t streams = options.streams; streams > 0; streams /= 2) {
    const runspec::ArenaPlan plan = runspec::MakeDecoderPlan(
        manifest.shape,
        {.slots = streams, .length = manifest.shape.context, .threads = options.threads});
    const uint64_t total = weights + static_cast<uint64_t>(plan.total_bytes);
    if (total <= options.memory_bytes_max || streams == 1) return total;
  }
  return ResourceExhausted("no stream fits");
}

}  // namespace gp::gateway
