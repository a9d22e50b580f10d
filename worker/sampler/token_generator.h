// Continues prompts with a Decoder, token by token, several at a time (TextBatch). One thread
// calls; errors are exceptions.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "worker/engine/model/decoder.h"
#include "worker/sampler/token_sampler.h"

namespace gp::engine {

struct Generation {
  std::span<const int32_t> prompt;  // not empty
  SamplingOptions sampling;
  int64_t max_tokens = 200;
  uint64_t seed = 0;
  uint64_t sample = 0;  // index among the samples of this seed
};

// The tokens that continue each prompt, with ids below `drawable`, because the model's vocabulary
// may be larger than the tokenizer's. Returns early when `stop` is requested; a text ends early
// when its logits are not finite.
std::vector<std::vector<int32_t>> GenerateTokens(Decoder& decoder,
                                                 std::span<const Generation> generations,
                                                 int64_t drawable,
                                                 const std::stop_token& stop = {});

}  // namespace gp::engine
