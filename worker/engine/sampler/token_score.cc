#include "worker/engine/sampler/token_score.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gp::engine {
namespace {

// The logarithm of the sum of exp(logit), as a double: the sum has as many terms as the vocabulary.
double LogSumExp(std::span<const float> logits) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

std::vector<int32_t> Likeliest(std::span<const float> logits, int64_t count) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto likelier = [&](int32_t a, int32_t b) {
    const float of_a = logits[static_cast<size_t>(a)];
    const float of_b = logits[static_cast<size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  };
  const auto end = ids.begin() + std::min<std::ptrdiff_t>(count, std::ssize(ids));
  std::partial_sort(ids.begin(), end, ids.end(), likelier);
  ids.erase(end, ids.end());
  return ids;
}

}  // namespace

TokenScore ScoreToken(std::span<const float> logits, int64_t drawable, int32_t token,
                      int64_t alternatives) {
  const double total = LogSumExp(logits);
  const auto logprob = [&](int32_t id) {
    return static_cast<float>(logits[static_cast<size_t>(id)] - total);
  };
  TokenScore score{.logprob = logprob(token)};
  if (alternatives <= 0) return score;
  score.top = Likeliest(logits.first(static_cast<size_t>(drawable)), alternatives);
  for (const int32_t id : score.top) score.top_logprobs.push_back(logprob(id));
  return score;
}

}  // namespace gp::engine
