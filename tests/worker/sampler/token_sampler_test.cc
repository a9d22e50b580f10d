#include "worker/sampler/token_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <vector>

#include "worker/sampler/vocabulary_scan.h"

namespace gp::engine {
namespace {

const std::vector<float> kLogits = {1.0f, 3.0f, 2.0f, 3.0f};

TEST(TokenSampler, TemperatureZeroTakesTheFirstOfTheLikeliest) {
  for (const double uniform : {0.0, 0.5, 0.999}) {
    EXPECT_EQ(SampleToken(kLogits, {.temperature = 0, .top_k = 0}, uniform), 1);
  }
}

TEST(TokenSampler, TopOneTakesTheLowerIdOfEqualOnes) {
  EXPECT_EQ(SampleToken(kLogits, {.temperature = 1, .top_k = 1}, 0.999), 1);
}

// Compares with the k largest logits found by sorting, where many logits equal the k-th.
TEST(TokenSampler, TheTopKAreThoseOfASortedList) {
  std::vector<float> logits;
  for (int i = 0; i < 500; ++i) logits.push_back(static_cast<float>(i * 7919 % 23));
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  for (const int64_t k : {1, 2, 30, 57, 499}) {
    std::set<int32_t> chosen;
    for (int i = 0; i < 1500; ++i) {
      chosen.insert(SampleToken(logits, {.temperature = 1e6, .top_k = k}, i / 1500.0));
    }
    EXPECT_EQ(chosen, std::set<int32_t>(order.begin(), order.begin() + k)) << k;
  }
}

// The likeliest tokens, as a device finds them, decide as all logits do.
TEST(TokenSampler, TheLikeliestTokensGiveTheSameChoice) {
  std::vector<float> logits;
  for (int i = 0; i < 500; ++i) logits.push_back(static_cast<float>(i * 7919 % 97) / 10);
  LikelyTokens likely{.below = 500, .ids = LikeliestIds(logits, 64)};
  for (const int32_t id : likely.ids) likely.logits.push_back(logits[static_cast<size_t>(id)]);
  for (const SamplingOptions& options :
       {SamplingOptions{.temperature = 0}, SamplingOptions{}, SamplingOptions{.top_k = 64},
        SamplingOptions{.temperature = 1.5, .top_k = 40, .top_p = 0.8}, SamplingOptions{.top_k = 1},
        SamplingOptions{.top_k = 30, .min_p = 0.3}}) {
    ASSERT_TRUE(NeedsOnly(options, 64, 500));
    for (int i = 0; i < 300; ++i) {
      EXPECT_EQ(SampleToken(likely, options, i / 300.0), SampleToken(logits, options, i / 300.0));
    }
  }
}

TEST(TokenSampler, SaysWhenTheLikeliestTokensAreNotEnough) {
  EXPECT_FALSE(NeedsOnly({}, 0, 500)) << "there are none";
  EXPECT_FALSE(NeedsOnly({.top_k = 0}, 64, 500));
  EXPECT_FALSE(NeedsOnly({.top_k = 65}, 64, 500));
  EXPECT_FALSE(NeedsOnly({.top_k = 50}, 64, 50)) << "all tokens are weighed, in another way";
  EXPECT_FALSE(NeedsOnly({.presence_penalty = 1}, 64, 500));
  EXPECT_FALSE(NeedsOnly({.frequency_penalty = 1}, 64, 500));
  EXPECT_FALSE(NeedsOnly({.logit_bias = {{3, 1.0}}, .temperature = 0}, 64, 500));
}

TEST(TokenSampler, OnlyTheTopKAreChosen) {
  for (int i = 0; i < 1000; ++i) {
    const int32_t token = SampleToken(kLogits, {.temperature = 100, .top_k = 3}, i / 1000.0);
    EXPECT_NE(token, 0);
  }
}

TEST(TokenSampler, FollowsTheSoftmax) {
  constexpr int kDraws = 20000;
  std::vector<int> counts(kLogits.size());
  for (int i = 0; i < kDraws; ++i) {
    const double uniform = KeyedUniform(1337, 0, static_cast<uint64_t>(i));
    ++counts[static_cast<size_t>(SampleToken(kLogits, {.temperature = 2, .top_k = 0}, uniform))];
  }
  double total = 0;
  for (const float logit : kLogits) total += std::exp(logit / 2);
  for (size_t c = 0; c < kLogits.size(); ++c) {
    // At most four standard deviations of a binomial distribution: 4 * sqrt(0.25 / 20000) = 0.014.
    EXPECT_NEAR(counts[c] / static_cast<double>(kDraws), std::exp(kLogits[c] / 2) / total, 0.014);
  }
}

TEST(TokenSampler, AnImpossibleTokenIsNeverChosen) {
  const float never = -std::numeric_limits<float>::infinity();
  const std::vector<float> logits = {never, 0.0f, never};
  for (const double uniform : {0.0, 0.5, std::nextafter(1.0, 0.0)}) {
    EXPECT_EQ(SampleToken(logits, {.temperature = 1, .top_k = 0}, uniform), 1);
  }
}

std::set<int32_t> Chosen(std::span<const float> logits, const SamplingOptions& options) {
  std::set<int32_t> chosen;
  for (int i = 0; i < 2000; ++i) chosen.insert(SampleToken(logits, options, i / 2000.0));
  return chosen;
}

// Logits for the probabilities 0.4, 0.1, 0.3 and 0.2.
std::vector<float> FourLogits() {
  return {std::log(0.4f), std::log(0.1f), std::log(0.3f), std::log(0.2f)};
}

TEST(TokenSampler, TopPKeepsTheFewestThatReachIt) {
  const auto chosen = [](double top_p) {
    return Chosen(FourLogits(), {.temperature = 1, .top_k = 0, .top_p = top_p});
  };
  EXPECT_EQ(chosen(0.0), (std::set<int32_t>{0}));
  EXPECT_EQ(chosen(0.39), (std::set<int32_t>{0}));
  EXPECT_EQ(chosen(0.5), (std::set<int32_t>{0, 2}));
  EXPECT_EQ(chosen(0.8), (std::set<int32_t>{0, 2, 3}));
  EXPECT_EQ(chosen(1.0), (std::set<int32_t>{0, 1, 2, 3}));
}

TEST(TokenSampler, TopPCountsAmongTheTopK) {
  // Top k leaves 0.4 and 0.3, which are 4/7 and 3/7 of the remaining probability.
  EXPECT_EQ(Chosen(FourLogits(), {.temperature = 1, .top_k = 2, .top_p = 0.5}),
            (std::set<int32_t>{0}));
}

TEST(TokenSampler, TopPTakesTheLowerIdOfEqualOnes) {
  const std::vector<float> equal(8, 1.0f);
  EXPECT_EQ(Chosen(equal, {.temperature = 1, .top_k = 0, .top_p = 0.3}),
            (std::set<int32_t>{0, 1, 2}));
}

TEST(TokenSampler, MinPIsAShareOfTheLargest) {
  const auto chosen = [](double min_p) {
    return Chosen(FourLogits(), {.temperature = 1, .top_k = 0, .min_p = min_p});
  };
  EXPECT_EQ(chosen(0.2), (std::set<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(chosen(0.4), (std::set<int32_t>{0, 2, 3}));
  EXPECT_EQ(chosen(1.0), (std::set<int32_t>{0}));
}

TEST(TokenSampler, ATinyTemperatureTakesTheLikeliest) {
  for (const double temperature : {1e-4, 1e-7, 1e-300}) {
    EXPECT_EQ(Chosen(FourLogits(), {.temperature = temperature, .top_k = 0}),
              (std::set<int32_t>{0}));
  }
}

TEST(TokenSampler, PenaltiesCountWhatWasWritten) {
  std::vector<float> logits = {1, 1, 1, 1};
  AdjustLogits({.presence_penalty = 0.5, .frequency_penalty = 0.25},
               std::vector<int32_t>{2, 0, 2, 2}, logits);
  EXPECT_EQ(logits, (std::vector<float>{0.25f, 1, -0.25f, 1}));
}

TEST(TokenSampler, ABiasMovesItsLogitAndUnknownIdsMeanNothing) {
  std::vector<float> logits = {1, 1};
  AdjustLogits({.logit_bias = {{1, -100}, {7, 3}, {-1, 3}}}, {}, logits);
  EXPECT_EQ(logits, (std::vector<float>{1, -99}));
}

// Expected values computed independently from the definition: a seed must give the same text in
// every version.
TEST(TokenSampler, KeyedNumbersAreTheSameInEveryVersion) {
  EXPECT_EQ(KeyedUniform(1337, 0, 0), 0.35450497531335246);
  EXPECT_EQ(KeyedUniform(1, 2, 3), 0.814259011529328);
  EXPECT_EQ(KeyedUniform(1, 3, 2), 0.5595523851783101);
}

TEST(TokenSampler, WhatRoundingLeavesGoesToTheLastTokenThatCanBe) {
  const float never = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(SampleToken(std::vector<float>{1, 1, never, never}, {.temperature = 1, .top_k = 0}, 1),
            1);
}

TEST(TokenSampler, KeyedNumbersDependOnEachKeyAndLieBelowOne) {
  const double base = KeyedUniform(1, 2, 3);
  EXPECT_EQ(KeyedUniform(1, 2, 3), base);
  EXPECT_NE(KeyedUniform(2, 2, 3), base);
  EXPECT_NE(KeyedUniform(1, 3, 3), base);
  EXPECT_NE(KeyedUniform(1, 2, 4), base);
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_GE(KeyedUniform(0, 0, i), 0.0);
    EXPECT_LT(KeyedUniform(0, 0, i), 1.0);
  }
}

}  // namespace
}  // namespace gp::engine
