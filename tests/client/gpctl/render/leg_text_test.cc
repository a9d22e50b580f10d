// Goal: the rate and the end of the schedule are said as the trainer computes them.
#include "client/gpctl/render/leg_text.h"

#include <gtest/gtest.h>

namespace gp::gpctl {
namespace {

runspec::RunSpec Spec(int64_t steps, int64_t decay_steps) {
  runspec::RunSpec spec;
  spec.batch = {.micro_batch = 2, .sequence = 16};
  spec.optimizer.lr = 1e-3;
  spec.schedule.min_lr_ratio = 0.1;
  spec.schedule.decay_steps = decay_steps;
  spec.budget.steps = steps;
  return spec;
}

TEST(ScheduleText, SaysWhereTheScheduleEndedAndThatTheRateStays) {
  EXPECT_EQ(ScheduleText(Spec(500, 300), 300),
            "learning rate 0.0001 at step 300, 0.0001 at step 500: the cosine schedule ended at "
            "step 300 (schedule.decay_steps)");
}

TEST(ScheduleText, SaysWhereTheScheduleWillEnd) {
  EXPECT_EQ(ScheduleText(Spec(400, 0), 200),
            "learning rate 0.00055 at step 200, 0.0001 at step 400: the cosine schedule ends at "
            "step 400");
}

TEST(ScheduleText, AConstantScheduleHasNoEnd) {
  runspec::RunSpec spec = Spec(400, 0);
  spec.schedule.kind = runspec::ScheduleKind::kConstant;
  EXPECT_EQ(ScheduleText(spec, 200),
            "learning rate 0.001 at step 200, 0.001 at step 400: the schedule is constant");
}

TEST(ScheduleText, AWallTimeDecidesTheScheduleOnlyWhenItIsMeasured) {
  runspec::RunSpec spec = Spec(0, 0);
  spec.budget.wall_time = std::chrono::minutes(2);
  EXPECT_EQ(ScheduleText(spec, 0), "the schedule is fitted to the run's wall time");
  EXPECT_EQ(LearningRateAt(spec, 0), 0);
  spec.schedule.decay_steps = 300;
  EXPECT_EQ(ScheduleText(spec, 150),
            "learning rate 0.00055 at step 150: the cosine schedule ends at step 300");
}

TEST(ScheduleText, CountsTheTokensThatCameBeforeTheStart) {
  runspec::RunSpec spec = Spec(0, 0);
  spec.budget.tokens = 16'000;  // 32 a step; 64 in the 200 steps before
  EXPECT_EQ(ScheduleText(spec, 200, {.step = 200, .tokens = 12'800}),
            "learning rate 0.000325 at step 200, 0.0001 at step 300: the cosine schedule ends at "
            "step 300");
}

TEST(ChangesBetween, LeavesOutWhatChangesWithEveryRun) {
  const auto changes =
      ChangesBetween("name: a\ninit_from: scratch\nseed: 1\n", "name: b\ninit_from: /c\nseed: 2\n");
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].key, "seed");
  EXPECT_TRUE(ChangesBetween("model: {vocab: auto}", "model: {vocab: 256}").empty());
  EXPECT_EQ(ChangesBetween("model: {vocab: 50}", "model: {vocab: 256}").size(), 1u);
  EXPECT_TRUE(ChangesBetween("seed: 1", "[").empty());
}

TEST(DifferencesText, JoinsTheChanges) {
  EXPECT_EQ(DifferencesText({{"seed", {"1", "2"}}, {"optimizer.lr", {"1", std::nullopt}}}),
            "seed 1 -> 2, optimizer.lr 1 -> none");
  EXPECT_EQ(DifferencesText({}), "");
}

}  // namespace
}  // namespace gp::gpctl
