#include "worker/engine/step/skipped_steps.h"

#include <gtest/gtest.h>

namespace gp::engine {
namespace {

TEST(SkippedSteps, StepsThatFollowEachOtherAreARange) {
  SkippedSteps steps;
  EXPECT_EQ(steps.Text(), "");
  steps.Add(37, 37);
  steps.Add(120, 122);
  steps.Add(123, 123);
  steps.Add(125, 125);
  EXPECT_EQ(steps.Text(), "37,120-123,125");
  EXPECT_EQ(steps.count(), 6);
}

TEST(SkippedSteps, TheTextIsReadBack) {
  for (const char* text : {"", "1", "37,120-131", "1-2,4,9223372036854775807"}) {
    const auto steps = SkippedSteps::Parse(text);
    ASSERT_TRUE(steps.has_value()) << text;
    EXPECT_EQ(steps->Text(), text);
  }
}

TEST(SkippedSteps, OtherTextIsNone) {
  for (const char* text : {",", "1,", ",1", "0", "-1", "a", "1 ", " 1", "2,1", "2,2", "3-2", "1--2",
                           "1-", "1-2-3", "1;2", "9223372036854775808"}) {
    EXPECT_FALSE(SkippedSteps::Parse(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace gp::engine
