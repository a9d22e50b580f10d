// Continues a prompt with a LanguageModel, token by token, each with a forward pass over the whole
// context. One thread calls; errors are exceptions.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "worker/engine/model/language_model.h"
#include "worker/engine/sampler/token_sampler.h"

namespace gp::engine {

struct Generation {
  SamplingOptions sampling;
  int64_t max_tokens = 200;
  int64_t window = 0;  // tokens the model sees at most; older ones are forgotten
  uint64_t seed = 0;
  uint64_t sample = 0;  // which of the samples of this seed
};

// The tokens after `prompt`. Ends early when `stop` is requested. REQUIRES: the prompt is not
// empty.
std::vector<int32_t> GenerateTokens(LanguageModel& model, std::span<const int32_t> prompt,
                                    const Generation& options, const std::stop_token& stop = {});

}  // namespace gp::engine
