#include "worker/bench/sample_summary.h"

#include <gtest/gtest.h>

namespace gp::engine {
namespace {

TEST(SampleSummary, GivesQuartiles) {
  const SampleSummary summary = Summarize({5, 1, 3, 2, 4});
  EXPECT_EQ(summary.median, 3);
  EXPECT_EQ(summary.low, 2);
  EXPECT_EQ(summary.high, 4);
  EXPECT_EQ(summary.mean, 3);
  EXPECT_EQ(Summarize({1, 2}).median, 1.5);
  EXPECT_EQ(Summarize({}).median, 0);
}

}  // namespace
}  // namespace gp::engine
