#include "coordinator/telemetry/pace.h"

#include <gtest/gtest.h>

#include "coordinator/telemetry/run_log.h"

namespace gp::coordinator {
namespace {

Timestamp At(double seconds) {
  return Timestamp(std::chrono::microseconds(std::llround(seconds * 1e6)));
}

// A run that receives one point after another.
class PaceTest : public testing::Test {
 protected:
  // Adds a step of 1000 tokens that took `step_seconds`, `wall_seconds` after the previous one.
  void Step(double step_seconds, double wall_seconds) {
    now_ += wall_seconds;
    contract::TrainingPoint point;
    point.step = ++steps_;
    point.epoch = epoch_;
    point.step_seconds = step_seconds;
    point.tokens_per_second = 1000 / step_seconds;
    point.mfu = 0.5;
    point.processor_wait = processor_wait_;
    point.phases.forward = 0.25 * step_seconds;
    point.at_us = At(now_).time_since_epoch().count();
    progress_.Add(point);
  }

  const Pace& pace() const { return progress_.pace; }

  double now_ = 1e9;
  int64_t steps_ = 0;
  Epoch epoch_ = 1;
  std::optional<double> processor_wait_;
  Progress progress_;
};

TEST_F(PaceTest, IsUnknownBeforeTheFirstStep) { EXPECT_FALSE(pace().known()); }

// Three steps of one millisecond before the first evaluation used to forecast "0s left".
TEST_F(PaceTest, ForecastsNothingAfterLessThanTwoSeconds) {
  for (int i = 0; i < 3; ++i) Step(0.001, 0.001);
  EXPECT_TRUE(pace().known());
  EXPECT_FALSE(pace().forecasts());
  Step(0.001, Pace::kForecastSeconds);
  EXPECT_TRUE(pace().forecasts());
}

TEST_F(PaceTest, EvaluationsBetweenStepsTakeTimeAndNoThroughput) {
  for (int i = 0; i < 400; ++i) Step(0.01, i % 4 == 3 ? 0.51 : 0.01);
  EXPECT_NEAR(pace().SecondsPerStep(), 0.135, 0.01);
  EXPECT_NEAR(pace().StepSeconds(), 0.01, 1e-9);
  EXPECT_NEAR(pace().TokensPerSecond(), 1e5, 1e-3);
  EXPECT_NEAR(pace().Mfu(), 0.5, 1e-9);
  EXPECT_NEAR(pace().Phases().forward, 0.0025, 1e-9);
}

TEST_F(PaceTest, TheWaitForACoreIsAMeanOfTheStepsThatHaveIt) {
  Step(1, 1);
  EXPECT_FALSE(pace().ProcessorWait().has_value());
  processor_wait_ = 0.5;
  Step(1, 1);
  processor_wait_ = 0.1;
  Step(3, 3);
  EXPECT_NEAR(*pace().ProcessorWait(), 0.2, 0.001);
}

TEST_F(PaceTest, OneSlowStepChangesLittle) {
  for (int i = 0; i < 100; ++i) Step(1, 1);
  const double before = pace().SecondsPerStep();
  Step(10, 10);
  EXPECT_LT(pace().SecondsPerStep(), 1.15 * before);
  EXPECT_GT(pace().TokensPerSecond(), 0.85 * 1000);
}

TEST_F(PaceTest, FollowsAMachineThatStaysSlower) {
  for (int i = 0; i < 3600; ++i) Step(1, 1);
  for (int i = 0; i < 600; ++i) Step(4, 4);  // lasts 40 minutes
  EXPECT_NEAR(pace().SecondsPerStep(), 4, 0.3);
}

TEST_F(PaceTest, TheTimeBetweenTwoEpochsDoesNotCount) {
  for (int i = 0; i < 10; ++i) Step(1, 1);
  ++epoch_;
  Step(1, 5000);
  EXPECT_NEAR(pace().SecondsPerStep(), 1, 1e-9);
}

TEST_F(PaceTest, AClockThatIsSetBackDoesNotMakeStepsShorter) {
  for (int i = 0; i < 10; ++i) Step(1, 1);
  Step(1, -3600);
  EXPECT_NEAR(pace().SecondsPerStep(), 1, 1e-9);
}

TEST_F(PaceTest, ComesBackFromItsSums) {
  Step(1, 1);
  Step(2, 3);
  EXPECT_EQ(Pace(pace().sums()), pace());
}

}  // namespace
}  // namespace gp::coordinator
