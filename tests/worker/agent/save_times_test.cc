#include "worker/agent/save_times.h"

#include <gtest/gtest.h>

namespace gp::agent {
namespace {

using std::chrono::seconds;

const MonotonicTime kStart{std::chrono::hours(1)};

TEST(SaveTimes, CountFromTheStepThatIsSavedAndNotFromTheNewestOne) {
  SaveTimes times;
  for (int step = 1; step <= 5; ++step) times.StepCommitted(step, kStart + seconds(step));
  EXPECT_EQ(times.Written(3, kStart + seconds(10)), 7.0);
}

TEST(SaveTimes, AStepThatTheAgentDidNotSeeHasNone) {
  SaveTimes times;
  EXPECT_EQ(times.Written(3, kStart), std::nullopt);
  times.StepCommitted(4, kStart);
  EXPECT_EQ(times.Written(3, kStart), std::nullopt);
}

TEST(SaveTimes, RememberAsManyStepsAsAnySaveTakes) {
  SaveTimes times;
  for (int step = 1; step <= 10'000; ++step) times.StepCommitted(step, kStart + seconds(step));
  EXPECT_EQ(times.Written(1, kStart + seconds(10'001)), std::nullopt);
  EXPECT_EQ(times.Written(9'000, kStart + seconds(10'000)), 1000.0);
}

}  // namespace
}  // namespace gp::agent
