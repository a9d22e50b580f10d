#include "worker/data/mixture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

namespace gp::engine {
namespace {

constexpr int64_t kBlock = 4096;

TEST(Mixture, HasTheSharesOfItsWeightsOverManyDraws) {
  for (const std::vector<double>& weights :
       {std::vector<double>{0.7, 0.3}, {3, 1, 1e-4}, {1, 1, 1}, std::vector<double>(64, 0.5)}) {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    const Mixture mixture(1337, weights);
    std::vector<int64_t> rows(weights.size());
    for (int64_t row = 0; row < 250 * kBlock; ++row) {
      ++rows[mixture.At(row).source];
      if ((row + 1) % kBlock != 0) continue;
      for (size_t i = 0; i < weights.size(); ++i) {
        const double expected = static_cast<double>(row + 1) * weights[i] / sum;
        ASSERT_LT(std::abs(static_cast<double>(rows[i]) - expected),
                  static_cast<double>(weights.size()))
            << "source " << i << " after " << row + 1;
      }
    }
  }
}

// About half of the rows come from the first source, in any part of a block. In 64 rows, a random
// choice deviates by 8 rows (two standard deviations) one time in twenty, and practically never by
// 20.
TEST(Mixture, MixesWithinABlock) {
  const Mixture mixture(1, {1, 1});
  for (int64_t begin = 0; begin < 100 * 64; begin += 64) {
    int64_t first = 0;
    for (int64_t row = begin; row < begin + 64; ++row) first += mixture.At(row).source == 0;
    EXPECT_GT(first, 32 - 20) << begin;
    EXPECT_LT(first, 32 + 20) << begin;
  }
}

TEST(Mixture, NumbersTheRowsOfEachSourceWithoutGapOrRepetition) {
  const Mixture mixture(3, {0.2, 0.5, 0.3});
  std::vector<std::set<int64_t>> seen(3);
  for (int64_t row = 0; row < 20 * kBlock; ++row) {
    const Mixture::Draw draw = mixture.At(row);
    EXPECT_TRUE(seen[draw.source].insert(draw.index).second) << row;
  }
  for (const auto& indexes : seen) {
    EXPECT_EQ(*indexes.begin(), 0);
    EXPECT_EQ(*indexes.rbegin(), std::ssize(indexes) - 1);
  }
}

TEST(Mixture, FollowsFromTheSeedAndTheProportionOfTheWeights) {
  const Mixture mixture(5, {2, 6}), same(5, {0.25, 0.75}), other(6, {2, 6});
  int64_t different = 0;
  for (int64_t row = 0; row < 1000; ++row) {
    EXPECT_EQ(mixture.At(row), same.At(row));
    different += !(mixture.At(row) == other.At(row));
  }
  EXPECT_GT(different, 500);
}

TEST(Mixture, OneSourceHasEveryRowInItsOrder) {
  const Mixture mixture(5, {2});
  for (const int64_t row : {int64_t{0}, int64_t{5000}, int64_t{1} << 50}) {
    EXPECT_EQ(mixture.At(row), (Mixture::Draw{0, row}));
  }
}

}  // namespace
}  // namespace gp::engine
