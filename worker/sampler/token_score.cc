#include "worker/sampler/token_score.h"

#include <cmath>

#include "worker/sampler/vocabulary_scan.h"

namespace gp::engine {
ScoredToken ScoreToken(std::span<const float> logits, int64_t drawable, int32_t token,
                       int64_t alternatives) {
  const float largest = LargestLogit(logits);
  const double total = largest + std::log(SumOfExponentials(logits, largest));
  const auto logprob = [&](int32_t id) {
    return static_cast<float>(logits[static_cast<size_t>(id)] - total);
  };
  ScoredToken score{.logprob = logprob(token)};
  if (alternatives <= 0) return score;
  score.top = LikeliestIds(logits.first(static_cast<size_t>(drawable)), alternatives);
  for (const int32_t id : score.top) score.top_logprobs.push_back(logprob(id));
  return score;
}

}  // namespace gp::engine
