#include "worker/sampler/token_score.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace gp::engine {
namespace {

const std::vector<float> kFive = {1.0f, 3.0f, 2.0f, 3.0f, 50.0f};

double Reference(int32_t token) {
  double sum = 0;
  for (const float logit : kFive) sum += std::exp(static_cast<double>(logit));
  return kFive[static_cast<size_t>(token)] - std::log(sum);
}

TEST(ScoredToken, IsTheLogarithmOfTheSoftmax) {
  for (int32_t token = 0; token < 5; ++token) {
    EXPECT_NEAR(ScoreToken(kFive, 5, token, 0).logprob, Reference(token), 1e-5);
  }
  EXPECT_TRUE(ScoreToken(kFive, 5, 0, 0).top.empty());
}

TEST(ScoredToken, AlternativesFallAndTheLowerOfEqualIdsComesFirst) {
  const ScoredToken score = ScoreToken(kFive, 4, 2, 3);
  EXPECT_EQ(score.top, (std::vector<int32_t>{1, 3, 2}));
  EXPECT_EQ(score.top_logprobs[0], ScoreToken(kFive, 4, 1, 0).logprob);
  EXPECT_EQ(score.top_logprobs[2], score.logprob);
}

TEST(ScoredToken, ThereAreNoMoreAlternativesThanDrawableIds) {
  EXPECT_EQ(ScoreToken(kFive, 2, 0, 10).top, (std::vector<int32_t>{1, 0}));
}

TEST(ScoredToken, LargeLogitsDoNotOverflow) {
  const std::vector<float> large = {1e30f, -1e30f};
  EXPECT_EQ(ScoreToken(large, 2, 0, 0).logprob, 0);
  EXPECT_LT(ScoreToken(large, 2, 1, 0).logprob, -1e29f);
}

}  // namespace
}  // namespace gp::engine
