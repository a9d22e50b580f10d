#include "worker/engine/step/step_budget.h"

#include <gtest/gtest.h>

namespace gp::engine {
namespace {

TEST(StepBudget, FillsTheTimeThatIsLeft) {
  EXPECT_EQ(
      StepsWithin(
          {.wall_time_seconds = 100, .elapsed_seconds = 10, .steps_done = 12, .step_seconds = 0.5}),
      12 + 180);
}

TEST(StepBudget, LeavesRoomForEvaluationsAndSamples) {
  // 90 s minus 10 s for the last evaluation, at 0.5 + 10/20 + 5/20 seconds per step.
  EXPECT_EQ(StepsWithin({.wall_time_seconds = 100,
                         .elapsed_seconds = 10,
                         .steps_done = 12,
                         .step_seconds = 0.5,
                         .evaluation_seconds = 10,
                         .evaluation_every = 20,
                         .sample_seconds = 5,
                         .sample_every = 20}),
            12 + 64);
}

TEST(StepBudget, LeavesRoomForQuestions) {
  // 90 s minus 10 s for the last questions, at 0.5 + 10/20 seconds per step.
  EXPECT_EQ(StepsWithin({.wall_time_seconds = 100,
                         .elapsed_seconds = 10,
                         .steps_done = 12,
                         .step_seconds = 0.5,
                         .task_seconds = 10,
                         .task_every = 20}),
            12 + 80);
}

// 100 s minus 10 s elapsed, minus 10 s for the last evaluation, minus 5 s for the evaluations of
// the 10 earlier steps.
TEST(StepBudget, ChargesTheEvaluationsOfEarlierProcesses) {
  EXPECT_EQ(StepsWithin({.wall_time_seconds = 100,
                         .elapsed_seconds = 10,
                         .steps_done = 12,
                         .steps_before = 10,
                         .step_seconds = 0.5,
                         .evaluation_seconds = 10,
                         .evaluation_every = 20}),
            12 + 75);
}

TEST(StepBudget, WaitsForAStepThatWasTimedUnlessTheTimeIsUsedUp) {
  WallTimeMeasurement measured{
      .wall_time_seconds = 100, .elapsed_seconds = 50, .steps_done = 12, .steps_before = 11};
  EXPECT_FALSE(CalibrationIsDue(measured)) << "only the first step of a resumed process";
  measured.steps_timed = 1;
  EXPECT_TRUE(CalibrationIsDue(measured));
  measured.steps_timed = 0;
  measured.elapsed_seconds = 100;
  EXPECT_TRUE(CalibrationIsDue(measured));
}

TEST(StepBudget, IsFixedAfterEnoughStepsAndEnoughTime) {
  WallTimeMeasurement measured{
      .wall_time_seconds = 100, .elapsed_seconds = 4.9, .steps_done = 50, .steps_timed = 48};
  EXPECT_FALSE(CalibrationIsDue(measured));
  measured.elapsed_seconds = 5;
  EXPECT_TRUE(CalibrationIsDue(measured));
  measured.steps_done = kCalibrationSteps - 1;
  EXPECT_FALSE(CalibrationIsDue(measured));
}

TEST(StepBudget, ATimeThatHasPassedStillEndsWithAStep) {
  EXPECT_EQ(
      StepsWithin(
          {.wall_time_seconds = 1, .elapsed_seconds = 10, .steps_done = 12, .step_seconds = 0.5}),
      13);
}

}  // namespace
}  // namespace gp::engine
