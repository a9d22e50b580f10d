#include "client/gpctl/render/time_forecast.h"

#include <gmock/gmock.h>

#include <chrono>

#include "plan/flops.h"

namespace gp::gpctl {
namespace {

using ::testing::HasSubstr;

// 4096 tokens a step.
runspec::RunSpec Spec() {
  runspec::RunSpec spec;
  spec.batch.micro_batch = 8;
  spec.batch.sequence = 512;
  spec.resources.workers = 1;
  spec.budget.steps = 100;
  return spec;
}

double StepFlops(const runspec::RunSpec& spec) {
  return 4096 * runspec::TrainingFlopsPerToken(spec.model, 512);
}

TEST(TimeForecast, DividesTheWorkByTheCoresThatTheRunUses) {
  runspec::RunSpec spec = Spec();
  const CoreRate rate{StepFlops(spec) / 8, "AVX2"};  // eight seconds a step on one core
  EXPECT_DOUBLE_EQ(ForecastTime(spec, rate, 4)->step_seconds, 2);
  EXPECT_EQ(ForecastTime(spec, rate, 4)->steps, 100);
  spec.resources.threads = 2;
  EXPECT_EQ(ForecastTime(spec, rate, 4)->cores, 2);
  EXPECT_DOUBLE_EQ(ForecastTime(spec, rate, 4)->step_seconds, 4);
  spec.resources.workers = 100;
  EXPECT_EQ(ForecastTime(spec, rate, 4)->cores, 4);
}

TEST(TimeForecast, AWallTimeBoundsTheSteps) {
  runspec::RunSpec spec = Spec();
  const CoreRate rate{StepFlops(spec), "AVX2"};  // one second a step
  spec.budget.wall_time = std::chrono::seconds(30);
  EXPECT_EQ(ForecastTime(spec, rate, 1)->steps, 30);
  spec.budget.steps = 0;
  EXPECT_EQ(ForecastTime(spec, rate, 1)->steps, 30);
  EXPECT_THAT(TimeText(*ForecastTime(spec, rate, 1)), HasSubstr("about 30s = 30 steps of 1 s"));
  EXPECT_THAT(TimeText(*ForecastTime(spec, rate, 1)), HasSubstr("(forecast: 1 core at "));
  spec.budget.steps = 10;
  EXPECT_EQ(ForecastTime(spec, rate, 1)->steps, 10);
}

// Case runs-and-service/39: evaluations took most of the time, but the forecast was "time about
// 0s".
TEST(TimeForecast, CountsEvaluations) {
  runspec::RunSpec spec = Spec();
  const CoreRate rate{StepFlops(spec), "AVX2"};  // one second a step of 4096 tokens
  EXPECT_EQ(ForecastTime(spec, rate, 1)->evaluations, 0) << "their length is not known";
  const TimeForecast at_end = *ForecastTime(spec, rate, 1, 3 * 4096);
  EXPECT_EQ(at_end.evaluations, 1);
  EXPECT_DOUBLE_EQ(at_end.evaluation_seconds, 1);
  EXPECT_DOUBLE_EQ(at_end.seconds(), 101);
  spec.eval.every_steps = 8;
  spec.eval.batches = 6;
  const TimeForecast often = *ForecastTime(spec, rate, 1);
  EXPECT_EQ(often.evaluations, 13) << "12 at every eighth step, one at the end";
  EXPECT_DOUBLE_EQ(often.evaluation_seconds, 2);
  EXPECT_THAT(TimeText(often),
              HasSubstr("about 2m06s = 100 steps of 1 s, 13 evaluations of 2 s (forecast: "));
}

// Case runs-and-service/52: a run of a week that saved nothing before its end was accepted without
// a warning.
TEST(TimeForecast, WarnsOfARunThatMayLoseMoreThanAnHour) {
  runspec::RunSpec spec = Spec();
  spec.budget.steps = 10'000;
  const TimeForecast forecast = *ForecastTime(spec, {StepFlops(spec), "AVX2"}, 1);  // 1 s a step
  EXPECT_EQ(LostWorkWarning(spec, forecast), std::nullopt) << "auto saves by time";
  spec.checkpoint.every_auto = false;
  EXPECT_EQ(LostWorkWarning(spec, forecast).value_or(""),
            "checkpoint.every 0 saves at the end only: a failure may lose 2h46m of work; set "
            "checkpoint.every: auto to save about every ten minutes");
  spec.checkpoint.every_steps = 3'600;
  EXPECT_EQ(LostWorkWarning(spec, forecast), std::nullopt);
  spec.checkpoint.every_steps = 3'601;
  EXPECT_THAT(LostWorkWarning(spec, forecast).value_or(""), HasSubstr("too rarely"));
  spec.checkpoint.every_steps = 20'000;
  EXPECT_THAT(LostWorkWarning(spec, forecast).value_or(""), HasSubstr("at the end only"));
  spec.budget.steps = 3'600;
  spec.checkpoint.every_steps = 0;
  EXPECT_EQ(LostWorkWarning(spec, *ForecastTime(spec, {StepFlops(spec), "AVX2"}, 1)), std::nullopt);
}

TEST(TimeForecast, WhatAGpuTakesIsNotKnown) {
  runspec::RunSpec spec = Spec();
  spec.resources.device = "gpu";
  EXPECT_FALSE(ForecastTime(spec, {1e9, "AVX2"}, 4));
}

TEST(TimeForecast, TheRateFollowsFromTheInstructionSet) {
  EXPECT_EQ(StatedRate("flags : fpu avx2 fma\n").isa, "AVX2");
  EXPECT_GT(StatedRate("flags : avx2 fma avx512f\n").flops_per_second,
            StatedRate("flags : avx2 fma\n").flops_per_second);
  EXPECT_THAT(StatedRate("").isa, HasSubstr("neither AVX2"));
  EXPECT_EQ(RateOfLevel("avx512_bf16").value().isa, "AVX-512");
  EXPECT_EQ(RateOfLevel("amx").value().isa, "AVX-512") << "which computes it everywhere";
  EXPECT_FALSE(RateOfLevel("cuda sm_90"));
}

}  // namespace
}  // namespace gp::gpctl
