#include "base/backoff.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, GrowsByTheMultiplierUpToTheCap) {
  const BackoffOptions options{.initial = 100ms, .max = 1s, .multiplier = 2.0};
  EXPECT_EQ(BackoffCeiling(options, 0), 100ms);
  EXPECT_EQ(BackoffCeiling(options, 3), 800ms);
  EXPECT_EQ(BackoffCeiling(options, 4), 1s);
}

TEST(Backoff, StaysAtTheCapHoweverManyAttempts) {
  const BackoffOptions options{.initial = 1s, .max = 5min, .multiplier = 10.0};
  EXPECT_EQ(BackoffCeiling(options, 1'000'000), 5min);
  EXPECT_EQ(BackoffCeiling(options, -1), 1s);
}

TEST(Backoff, DrawsBetweenHalfTheCeilingAndTheCeiling) {
  const BackoffOptions options{.initial = 100ms, .max = 1s};
  EXPECT_EQ(BackoffDelay(options, 1, 0.0), 100ms);
  EXPECT_EQ(BackoffDelay(options, 1, 0.5), 150ms);
  EXPECT_LT(BackoffDelay(options, 1, 0.999999), 200ms);
}

}  // namespace
}  // namespace gp
