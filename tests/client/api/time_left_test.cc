#include "client/api/time_left.h"

#include <gtest/gtest.h>

namespace gp::client {
namespace {

v1::Progress ProgressAt(int64_t step, int64_t target, double pace_seconds) {
  v1::Progress progress;
  progress.set_step(step);
  progress.set_target_steps(target);
  progress.set_step_seconds(0.01);
  progress.set_pace_seconds(pace_seconds);
  return progress;
}

TEST(SecondsLeft, CountsWhatLiesBetweenSteps) {
  EXPECT_EQ(SecondsLeft(ProgressAt(10, 30, 0.5)), 10);
  EXPECT_EQ(SecondsLeft(ProgressAt(30, 30, 0.5)), 0);
}

TEST(SecondsLeft, OfAnOlderCoordinatorIsThatOfTheLastStep) {
  EXPECT_DOUBLE_EQ(SecondsLeft(ProgressAt(10, 30, 0)), 0.2);
}

TEST(SecondsLeft, IsUnknownWithoutATargetOrAPace) {
  EXPECT_EQ(SecondsLeft(ProgressAt(31, 30, 0.5)), -1);
  EXPECT_EQ(SecondsLeft(ProgressAt(10, 0, 0.5)), -1);
  EXPECT_EQ(SecondsLeft(ProgressAt(10, 30, -1)), -1) << "it was observed for too short a time";
  v1::Progress unknown = ProgressAt(10, 30, 0);
  unknown.set_step_seconds(0);
  EXPECT_EQ(SecondsLeft(unknown), -1);
}

}  // namespace
}  // namespace gp::client
