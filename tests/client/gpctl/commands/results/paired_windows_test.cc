#include "client/gpctl/commands/results/paired_windows.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gp::gpctl {
namespace {

TEST(PairedWindows, TheDifferenceAndItsStandardError) {
  // Losses of 3, 5, 4 and 6 nats per token; the second checkpoint is better by 0.1, 0.3, 0.1, 0.3.
  const std::vector<WindowLoss> first = {{10, 30}, {10, 50}, {10, 40}, {10, 60}};
  const std::vector<WindowLoss> second = {{10, 29}, {10, 47}, {10, 39}, {10, 57}};
  const auto paired = ComparePairs(first, second);
  ASSERT_TRUE(paired.ok()) << paired.status();
  EXPECT_EQ(paired->windows, 4);
  EXPECT_EQ(paired->tokens, 40);
  EXPECT_DOUBLE_EQ(paired->first, 4.5);
  EXPECT_DOUBLE_EQ(paired->second, 4.3);
  EXPECT_NEAR(paired->difference, -0.2, 1e-12);
  // Deviations of 0.1: sqrt(4 * 0.01 / 3) / sqrt(4).
  EXPECT_NEAR(*paired->standard_error, std::sqrt(0.04 / 3) / 2, 1e-12);
  EXPECT_TRUE(paired->is_clear());
}

TEST(PairedWindows, ASmallDifferenceIsNotClear) {
  const auto paired = ComparePairs({{10, 30}, {10, 50}}, {{10, 35}, {10, 46}});
  ASSERT_TRUE(paired.ok());
  EXPECT_FALSE(paired->is_clear());
}

TEST(PairedWindows, AWindowCountsByItsTokens) {
  const auto paired = ComparePairs({{30, 90}, {10, 50}}, {{30, 93}, {10, 50}});
  ASSERT_TRUE(paired.ok());
  EXPECT_DOUBLE_EQ(paired->first, 3.5);
  EXPECT_DOUBLE_EQ(paired->difference, 93.0 / 40 + 50.0 / 40 - 3.5);
}

TEST(PairedWindows, OneWindowHasNoStandardError) {
  const auto paired = ComparePairs({{10, 30}}, {{10, 20}});
  ASSERT_TRUE(paired.ok());
  EXPECT_FALSE(paired->standard_error.has_value());
  EXPECT_FALSE(paired->is_clear());
}

TEST(PairedWindows, AnInfiniteLossHasNoStandardError) {
  const auto paired = ComparePairs({{10, 30}, {10, INFINITY}}, {{10, 20}, {10, 30}});
  ASSERT_TRUE(paired.ok());
  EXPECT_FALSE(std::isfinite(paired->difference));
  EXPECT_FALSE(paired->standard_error.has_value());
}

TEST(PairedWindows, RefusesDifferentWindows) {
  EXPECT_EQ(ComparePairs({{10, 30}}, {{10, 30}, {10, 30}}).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_FALSE(ComparePairs({{10, 30}}, {{11, 30}}).ok());
  EXPECT_FALSE(ComparePairs({}, {}).ok());
}

}  // namespace
}  // namespace gp::gpctl
