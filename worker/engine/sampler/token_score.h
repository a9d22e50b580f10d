// How likely a model thought a token: natural logarithms of probabilities, from the logits as the
// model gave them. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gp::engine {

struct TokenScore {
  float logprob = 0;
  std::vector<int32_t> top;  // the likeliest ids, falling; of equal ones the lower id first
  std::vector<float> top_logprobs;
};

// The score of `token`, with `alternatives` of the first `drawable` ids beside it. All logits count
// in the softmax. The logprob of the likeliest token is the same number here and among the top.
// REQUIRES: 0 <= token < logits.size(), drawable <= logits.size().
TokenScore ScoreToken(std::span<const float> logits, int64_t drawable, int32_t token,
                      int64_t alternatives);

}  // namespace gp::engine
