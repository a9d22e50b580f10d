#include "worker/sampler/vocabulary_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace gp::engine {
namespace {

std::vector<float> RandomLogits(std::mt19937& random, size_t count, int kinds) {
  std::vector<float> logits(count);
  for (float& logit : logits) {
    logit = static_cast<float>(static_cast<int>(random() % static_cast<unsigned>(kinds)) - 9) / 3;
  }
  return logits;
}

TEST(VocabularyScan, FindsTheLikeliestAsSortingDoes) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    // Few distinct logits, so that many equal the k-th largest.
    const auto logits =
        RandomLogits(random, 1 + random() % 1000, 1 + static_cast<int>(random() % 60));
    std::vector<int32_t> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
    });
    const size_t count = std::min<size_t>(1 + random() % 80, order.size());
    order.resize(count);
    ASSERT_EQ(LikeliestIds(logits, static_cast<int64_t>(count)), order);
  }
  EXPECT_TRUE(LikeliestIds(std::vector<float>{1}, 0).empty());
  EXPECT_EQ(LikeliestIds(std::vector<float>{1, 2}, 9), (std::vector<int32_t>{1, 0}));
}

TEST(VocabularyScan, FindsTheLargestWhateverStandsBesideIt) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> logits(70, -infinity);
  EXPECT_EQ(LargestLogit(logits), -infinity);
  logits[69] = -3;
  EXPECT_EQ(LargestLogit(logits), -3);
  logits[3] = nan;
  EXPECT_EQ(LargestLogit(logits), -3);
  logits[8] = infinity;
  EXPECT_EQ(LargestLogit(logits), infinity);
  EXPECT_EQ(LargestLogit(std::vector<float>(70, nan)), -infinity);
}

TEST(VocabularyScan, ExponentialsAreThoseOfTheLibraryToSingleRounding) {
  std::vector<float> logits;
  for (int i = 0; i < 50001; ++i) logits.push_back(-static_cast<float>(i) * 0.00171f);
  for (const float logit : {-86.9f, -87.5f, -1e9f, -std::numeric_limits<float>::infinity(), 0.0f}) {
    logits.push_back(logit);
  }
  std::vector<float> results(logits.size());
  Exponentials(logits, 0, 1, results);
  for (size_t i = 0; i < logits.size(); ++i) {
    const double expected = logits[i] < -87 ? 0 : std::exp(static_cast<double>(logits[i]));
    ASSERT_NEAR(results[i], expected, expected * 3e-7) << logits[i];
  }
}

TEST(VocabularyScan, TheSumIsThatOfTheExponentials) {
  std::mt19937 random(1);
  for (const size_t count : {1u, 3u, 4u, 5u, 1001u}) {
    const auto logits = RandomLogits(random, count, 40);
    const float shift = LargestLogit(logits);
    double expected = 0;
    for (const float logit : logits) expected += std::exp(static_cast<double>(logit - shift));
    EXPECT_NEAR(SumOfExponentials(logits, shift), expected, expected * 1e-6);
  }
}

}  // namespace
}  // namespace gp::engine
