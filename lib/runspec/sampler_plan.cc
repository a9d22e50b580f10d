#include "runspec/sampler_plan.h"

#include <algorithm>

#include "plan/arena_plan.h"
#include "plan/decoder_plan.h"

namespace gp::runspec {
namespace {

constexpr int64_t kFp32Bytes = 4;

uint64_t DecoderBytes(const ModelShape& shape, const SamplerPlanOptions& options, int64_t streams,
                      bool own_weights) {
  const ArenaPlan plan = MakeDecoderPlan(shape, {.slots = streams,
                                                 .length = shape.context,
                                                 .bf16 = options.precision == Precision::kBf16,
                                                 .threads = options.threads,
                                                 .own_weights = own_weights});
  return static_cast<uint64_t>(plan.total_bytes);
}

// Memory while the model writes text.
uint64_t WritingBytes(const ModelShape& shape, const SamplerPlanOptions& options, int64_t streams) {
  const int64_t logits = (streams + options.prompt_rows) * shape.vocabulary * kFp32Bytes;
  // Attention over a cache does not use the backend's workspace, so one position is enough here.
  const int64_t workspace = CpuWorkspaceBytes(1, 1, options.threads);
  return DecoderBytes(shape, options, streams, true) + static_cast<uint64_t>(logits + workspace);
}

// Memory while the weights are read: the largest tensor as it is in the file, and the decoder's
// form of all of them. The rest of the decoder's memory is not used yet.
uint64_t LoadingBytes(const ModelShape& shape, const SamplerPlanOptions& options) {
  int64_t largest = 0;
  for (const ParameterInfo& tensor : MakeParameterLayout(shape).tensors) {
    largest = std::max(largest, tensor.count);
  }
  return static_cast<uint64_t>(largest * kFp32Bytes) + DecoderBytes(shape, options, 1, true) -
         DecoderBytes(shape, options, 1, false);
}

}  // namespace

StatusOr<SamplerPlan> MakeSamplerPlan(const ModelShape& shape, const SamplerPlanOptions& options) {
  const uint64_t loading = LoadingBytes(shape, options);
  const auto total = [&](int64_t streams) {
    return std::max(loading, WritingBytes(shape, options, streams));
  };
  if (total(1) > options.memory_bytes) {
    return ResourceExhausted("sampling one text at a time needs {} bytes of memory, {} are allowed",
                             total(1), options.memory_bytes);
  }
  int64_t fits = 1;
  int64_t fails = std::max<int64_t>(options.streams_max, 1) + 1;
  while (fails - fits > 1) {
    const int64_t middle = fits + (fails - fits) / 2;
    (total(middle) <= options.memory_bytes ? fits : fails) = middle;
  }
  return SamplerPlan{.streams = fits, .total_bytes = total(fits)};
}

}  // namespace gp::runspec
