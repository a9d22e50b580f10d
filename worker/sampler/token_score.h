// The probability that a model gave a token, as a natural logarithm, from the unchanged logits.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gp::engine {

struct ScoredToken {
  float logprob = 0;
  std::vector<int32_t> top;  // the likeliest ids, descending; of equal ones the lower id first
  std::vector<float> top_logprobs;
};

// The score of `token`, with `alternatives` among the first `drawable` ids. All logits are part of
// the softmax. If `token` is the likeliest, its logprob is the same number here and in
// top_logprobs. REQUIRES: 0 <= token < logits.size(), drawable <= logits.size().
ScoredToken ScoreToken(std::span<const float> logits, int64_t drawable, int32_t token,
                       int64_t alternatives);

}  // namespace gp::engine
