// Choosing the next token from its logits. The choice is a function of the logits, the settings and
// a number that is a function of (seed, sample, position) alone, so the same seed gives the same
// text. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "worker/engine/model/decoder.h"

namespace gp::engine {

// In the order in which they are applied.
struct SamplingOptions {
  // Subtracted from the logit of a token that the text already has (the prompt does not count):
  // presence_penalty once, frequency_penalty once for each occurrence.
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::map<int32_t, double> logit_bias;  // added to the logits of these ids
  double temperature = 0.8;              // 0: always the likeliest token
  int64_t top_k = 50;                    // tokens that may be chosen; 0: all
  double top_p = 1;  // the likeliest tokens whose probabilities add up to it may be chosen
  double min_p = 0;  // of these, tokens with at least this share of the largest probability
};

// A uniform number in [0, 1).
double KeyedUniform(uint64_t seed, uint64_t sample, uint64_t position);

// Applies penalties and bias. Ids beyond the logits are ignored.
void AdjustLogits(const SamplingOptions& options, std::span<const int32_t> written,
                  std::span<float> logits);

// Whether the first `count` of the likeliest tokens among `drawable` are enough to choose the same
// token as from all logits.
bool NeedsOnly(const SamplingOptions& options, int64_t count, int64_t drawable);

// The token at which the running sum of the probabilities, in the order of the ids, passes
// `uniform`. Equal logits at the limit of top k or top p: the lower id is kept. REQUIRES: at least
// one logit.
int32_t SampleToken(std::span<const float> logits, const SamplingOptions& options, double uniform);
// The same choice from the likeliest tokens. REQUIRES: NeedsOnly of their number and `below`.
int32_t SampleToken(const LikelyTokens& likely, const SamplingOptions& options, double uniform);

}  // namespace gp::engine
