// Choosing the next token from its logits: temperature, top-k, and a random number that is a
// function of (seed, sample, position) alone, so the same seed gives the same text. Pure functions;
// thread-safe.
#pragma once

#include <cstdint>
#include <span>

namespace gp::engine {

struct SamplingOptions {
  double temperature = 0.8;  // 0: always the likeliest token
  int64_t top_k = 200;       // tokens that may be chosen; 0: all
};

// In [0, 1).
double KeyedUniform(uint64_t seed, uint64_t sample, uint64_t position);

// The token at which the running sum of the probabilities, in the order of the ids, passes
// `uniform`. Equal logits at the edge of the top k: the lower id is in. REQUIRES: at least one
// logit.
int32_t SampleToken(std::span<const float> logits, const SamplingOptions& options, double uniform);

}  // namespace gp::engine
