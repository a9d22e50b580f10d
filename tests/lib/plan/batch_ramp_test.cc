#include "plan/batch_ramp.h"

#include <gtest/gtest.h>

#include "runspec/batch_plan.h"

namespace gp::runspec {
namespace {

// 4 shards of 3 sequences of 7 tokens: 84 tokens per micro-batch.
constexpr int64_t kGranule = 84;

BatchPlan Ramp(int64_t from, int64_t to, int64_t steps) {
  return {.logical_shards = 4,
          .accumulation = to,
          .tokens_per_step = to * kGranule,
          .ramp_accumulation = from,
          .ramp_steps = steps};
}

TEST(BatchRamp, GrowsAlongALineInWholeMicroBatches) {
  const BatchPlan plan = Ramp(2, 8, 4);
  const int64_t expected[] = {2, 3, 5, 6, 8, 8, 8};
  for (int64_t step = 0; step < 7; ++step) {
    EXPECT_EQ(AccumulationAt(plan, step), expected[step]) << step;
    EXPECT_EQ(TokensAt(plan, step), expected[step] * kGranule) << step;
  }
}

TEST(BatchRamp, WithoutOneEveryStepIsTheSame) {
  const BatchPlan plan = Ramp(0, 5, 0);
  EXPECT_EQ(AccumulationAt(plan, 0), 5);
  EXPECT_EQ(TokensBefore(plan, 1'000'000'000), 5 * kGranule * 1'000'000'000);
  EXPECT_EQ(StepsWithin(plan, 5 * kGranule * 3 - 1), 2);
  EXPECT_EQ(StepsUntil(plan, 5 * kGranule * 3 - 1), 3);
}

// Compares the closed form with the sum, and checks both inverses, at every step.
TEST(BatchRamp, CountsWhatTheStepsBeforeSawExactly) {
  for (const auto& [from, to, steps] : {std::tuple{1, 1, 1},
                                        {1, 2, 7},
                                        {3, 50, 11},
                                        {1, 97, 400},
                                        {49, 50, 1000},
                                        {1, 1000, 3},
                                        {5, 5, 30}}) {
    const BatchPlan plan = Ramp(from, to, steps);
    int64_t micro_batches = 0;
    for (int64_t step = 0; step < steps + 5; ++step) {
      ASSERT_EQ(MicroBatchesBefore(plan, step), micro_batches) << from << to << steps << step;
      const int64_t tokens = micro_batches * kGranule;
      ASSERT_EQ(StepsWithin(plan, tokens), step);
      ASSERT_EQ(StepsUntil(plan, tokens), step);
      ASSERT_EQ(StepsWithin(plan, tokens + 1), step);
      ASSERT_EQ(StepsUntil(plan, tokens + 1), step + 1);
      micro_batches += AccumulationAt(plan, step);
    }
  }
}

TEST(BatchRamp, TheLargestNumbersTheSchemaAllowsDoNotOverflow) {
  BatchPlan plan{.accumulation = 1'000'000'000,
                 .tokens_per_step = 1'000'000'000,
                 .ramp_accumulation = 1,
                 .ramp_steps = 1'000'000'000};
  EXPECT_EQ(AccumulationAt(plan, 999'999'999), 999'999'999);
  // The sum of 1 + floor(i * (1 - 1e-9)) over 1e9 steps, that is, of 1, 1, 2, 3 and so on.
  EXPECT_EQ(MicroBatchesBefore(plan, 1'000'000'000), 499'999'999'500'000'001);
  EXPECT_GT(StepsWithin(plan, 1'000'000'000'000'000), 44'000'000);
}

TEST(BatchRamp, TheBudgetOfTokensCountsTheSmallSteps) {
  RunSpec spec;
  spec.batch = {.micro_batch = 1, .sequence = 10, .total_tokens = 80};
  spec.batch.ramp_from_tokens = 20;
  spec.batch.ramp_steps = 4;
  spec.budget.tokens = 20 + 30 + 50 + 60 + 80;
  EXPECT_EQ(TargetSteps(spec), 5);
  spec.budget.tokens -= 1;
  EXPECT_EQ(TargetSteps(spec), 4);
}

TEST(BatchRamp, LengthsInTokensBecomeSteps) {
  RunSpec spec;
  spec.batch = {.micro_batch = 1, .sequence = 10, .total_tokens = 80};
  spec.schedule.warmup_tokens = 800;
  spec.schedule.decay_tokens = 8001;
  ScheduleSpec schedule = ScheduleInSteps(spec.schedule, *PlanBatch(spec));
  EXPECT_EQ(schedule.warmup_steps, 10);
  EXPECT_EQ(schedule.decay_steps, 101);
  EXPECT_EQ(schedule.warmup_tokens, 0);
  spec.batch.ramp_from_tokens = 20;
  spec.batch.ramp_steps = 4;
  schedule = ScheduleInSteps(spec.schedule, *PlanBatch(spec));
  EXPECT_EQ(schedule.warmup_steps, 12);  // 4 steps of the ramp with 160 tokens, then 8 steps of 80
}

TEST(BatchRamp, CountsOnFromTheTokensOfAnotherBatch) {
  const BatchPlan plan = Ramp(0, 2, 0);  // 168 tokens a step
  const TrainingStart start{.step = 10, .tokens = 10 * kGranule};
  EXPECT_EQ(TokensBefore(plan, 10, start), 10 * kGranule);
  EXPECT_EQ(TokensBefore(plan, 13, start), 16 * kGranule);
  EXPECT_EQ(StepsWithin(plan, 16 * kGranule, start), 13);
  EXPECT_EQ(StepsWithin(plan, 16 * kGranule + 1, start), 13);
  EXPECT_EQ(StepsUntil(plan, 16 * kGranule + 1, start), 14);
  EXPECT_EQ(StepsWithin(plan, 10 * kGranule, start), 10);
  EXPECT_LT(StepsWithin(plan, 9 * kGranule, start), 10) << "a budget that was used up before";
  EXPECT_EQ(StepsWithin(plan, 0, {.step = 100, .tokens = 1'000'000}), 0);
}

TEST(BatchRamp, AStartOfTheSameBatchChangesNothing) {
  const BatchPlan plan = Ramp(2, 8, 4);
  const TrainingStart start{.step = 3, .tokens = TokensBefore(plan, 3)};
  for (int64_t step = 3; step < 12; ++step) {
    EXPECT_EQ(TokensBefore(plan, step, start), TokensBefore(plan, step));
    EXPECT_EQ(StepsWithin(plan, TokensBefore(plan, step), start), step);
  }
  const ScheduleSpec schedule{.warmup_tokens = 5 * kGranule, .decay_tokens = 40 * kGranule};
  EXPECT_EQ(ScheduleInSteps(schedule, plan, start), ScheduleInSteps(schedule, plan));
}

}  // namespace
}  // namespace gp::runspec
