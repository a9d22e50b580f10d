#include "worker/trainer/run_budget.h"

#include <gtest/gtest.h>

namespace gp::engine {
namespace {

runspec::RunSpec Spec(int64_t steps, std::chrono::seconds wall_time) {
  runspec::RunSpec spec;
  spec.budget.steps = steps;
  spec.budget.wall_time = wall_time;
  return spec;
}

TEST(RunBudget, StepsAreKnownFromTheStart) {
  const RunBudget budget(Spec(100, std::chrono::seconds(0)));
  EXPECT_FALSE(budget.NeedsCalibration(kCalibrationSteps));
  EXPECT_FALSE(budget.Done(99));
  EXPECT_TRUE(budget.Done(100));
  EXPECT_EQ(budget.ScheduleSteps(0), 100);
}

TEST(RunBudget, CountsTheTokensBeforeItsStart) {
  runspec::RunSpec spec = Spec(0, std::chrono::seconds(0));
  spec.batch.total_tokens = spec.batch.micro_batch * spec.batch.sequence;
  spec.budget.tokens = 20 * spec.batch.total_tokens;
  EXPECT_EQ(RunBudget(spec).target_steps(), 20);
  const runspec::TrainingStart start{.step = 8, .tokens = 16 * spec.batch.total_tokens};
  EXPECT_EQ(RunBudget(spec, start).target_steps(), 12);
}

TEST(RunBudget, AWallTimeHasNoEndUntilItIsMeasured) {
  RunBudget budget(Spec(0, std::chrono::seconds(60)));
  EXPECT_FALSE(budget.NeedsCalibration(kCalibrationSteps - 1));
  EXPECT_TRUE(budget.NeedsCalibration(kCalibrationSteps));
  EXPECT_FALSE(budget.Done(1'000'000));
  budget.set_timed({500, 40});
  EXPECT_FALSE(budget.NeedsCalibration(kCalibrationSteps));
  EXPECT_TRUE(budget.Done(500));
}

TEST(RunBudget, TheScheduleDoesNotDependOnWhenTheBudgetBecameKnown) {
  RunBudget measuring(Spec(0, std::chrono::seconds(60)));
  RunBudget told(Spec(0, std::chrono::seconds(60)));
  told.set_timed({500, 40});
  for (int64_t step = 0; step < 40; ++step) {
    EXPECT_EQ(measuring.ScheduleSteps(step), told.ScheduleSteps(step));
  }
  EXPECT_EQ(told.ScheduleSteps(40), 500);
}

TEST(RunBudget, TheSmallerOfStepsAndTimeEnds) {
  RunBudget budget(Spec(100, std::chrono::seconds(60)));
  budget.set_timed({500, 40});
  EXPECT_EQ(budget.target_steps(), 100);
  budget.set_timed({50, 40});
  EXPECT_EQ(budget.target_steps(), 50);
}

}  // namespace
}  // namespace gp::engine
