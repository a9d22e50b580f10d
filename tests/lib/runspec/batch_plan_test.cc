#include "runspec/batch_plan.h"

#include <gtest/gtest.h>

namespace gp::runspec {
namespace {

RunSpec Spec(int workers, int max_workers, int64_t micro_batch, int64_t sequence, int64_t total) {
  RunSpec spec;
  spec.resources.workers = workers;
  spec.resources.max_workers = max_workers;
  spec.batch = {.micro_batch = micro_batch, .sequence = sequence, .total_tokens = total};
  return spec;
}

TEST(BatchPlan, ShardsAreTheSmallestPowerOfTwoThatHoldsEveryAllowedRank) {
  const int expected[] = {1, 2, 4, 4, 8, 8, 8, 8, 16};
  for (int workers = 1; workers <= 9; ++workers) {
    EXPECT_EQ(LogicalShards({.workers = workers}), expected[workers - 1]) << workers;
  }
  EXPECT_EQ(LogicalShards({.workers = 2, .max_workers = 5}), 8);
}

TEST(BatchPlan, AccumulationFollowsFromTheTotal) {
  const auto plan = PlanBatch(Spec(8, 0, 16, 1024, 524288));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(*plan, (BatchPlan{.logical_shards = 8, .accumulation = 4, .tokens_per_step = 524288}));
}

TEST(BatchPlan, NoTotalMeansOneMicroBatchPerShard) {
  const auto plan = PlanBatch(Spec(3, 0, 6, 64, 0));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(*plan, (BatchPlan{.logical_shards = 4, .accumulation = 1, .tokens_per_step = 1536}));
}

TEST(BatchPlan, NamesTheNearestTotalsThatFit) {
  const RunSpec spec = Spec(8, 0, 64, 1024, 600000);
  const auto plan = PlanBatch(spec);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(Message(plan.status()).find("524,288 or 1,048,576"), std::string::npos)
      << plan.status();
  EXPECT_EQ(NearestFittingTotals(Spec(8, 0, 64, 1024, 5)).below, 524288);
}

TEST(BatchPlan, TheFirstBudgetReachedEndsTheRun) {
  RunSpec spec = Spec(1, 0, 8, 128, 1024);
  EXPECT_EQ(TargetSteps(spec), 0);
  spec.budget.tokens = 10'000;
  EXPECT_EQ(TargetSteps(spec), 9);
  spec.budget.steps = 5;
  EXPECT_EQ(TargetSteps(spec), 5);
  spec.budget = {.tokens = 1};
  EXPECT_EQ(TargetSteps(spec), 1);
}

TEST(BatchPlan, ABudgetCountsWhatCameBeforeTheStart) {
  RunSpec spec = Spec(1, 0, 8, 128, 2048);
  const TrainingStart start{.step = 4, .tokens = 4096};
  spec.budget.tokens = 10'240;
  EXPECT_EQ(TargetSteps(spec, start), 7);
  spec.budget.steps = 6;
  EXPECT_EQ(TargetSteps(spec, start), 6);
  spec.budget = {.tokens = 4'000};
  EXPECT_LE(TargetSteps(spec, start), 4) << "no step is left";
}

}  // namespace
}  // namespace gp::runspec
