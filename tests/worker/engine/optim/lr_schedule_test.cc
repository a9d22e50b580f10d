// Goal: learning rates at the corners of every schedule, against values worked out by hand.
#include "worker/engine/optim/lr_schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace gp::engine {
namespace {

using runspec::ScheduleKind;
using runspec::ScheduleSpec;
using runspec::WarmupForm;

struct Row {
  ScheduleKind kind;
  WarmupForm form;
  int64_t step;
  double rate;  // of lr = 1
};

TEST(LearningRate, FollowsTheTable) {
  constexpr auto kNano = WarmupForm::kNanoGpt;
  constexpr auto kBuild = WarmupForm::kBuildNanoGpt;
  const double quarter = 0.1 + 0.9 * 0.5 * (1 + std::cos(std::numbers::pi / 4));
  const Row rows[] = {
      {ScheduleKind::kCosine, kNano, 0, 1.0 / 11},   {ScheduleKind::kCosine, kNano, 9, 10.0 / 11},
      {ScheduleKind::kCosine, kBuild, 0, 0.1},       {ScheduleKind::kCosine, kBuild, 9, 1.0},
      {ScheduleKind::kCosine, kNano, 10, 1.0},       {ScheduleKind::kCosine, kNano, 35, quarter},
      {ScheduleKind::kCosine, kNano, 60, 0.55},      {ScheduleKind::kCosine, kNano, 110, 0.1},
      {ScheduleKind::kCosine, kNano, 5000, 0.1},     {ScheduleKind::kLinear, kNano, 60, 0.55},
      {ScheduleKind::kLinear, kNano, 110, 0.1},      {ScheduleKind::kLinear, kNano, 10, 1.0},
      {ScheduleKind::kConstant, kNano, 4, 5.0 / 11}, {ScheduleKind::kConstant, kNano, 900, 1.0},
      {ScheduleKind::kWsd, kNano, 88, 1.0},          {ScheduleKind::kWsd, kNano, 99, 0.55},
      {ScheduleKind::kWsd, kNano, 110, 0.1},         {ScheduleKind::kWsd, kNano, 3, 4.0 / 11},
  };
  for (const Row& row : rows) {
    const ScheduleSpec spec{.kind = row.kind,
                            .warmup_steps = 10,
                            .warmup_form = row.form,
                            .min_lr_ratio = 0.1,
                            .decay_steps = 110};
    EXPECT_NEAR(LearningRate(spec, 1.0, 5, row.step), row.rate, 1e-12)
        << "kind " << static_cast<int>(row.kind) << " step " << row.step;
  }
}

TEST(LearningRate, DecaysOverTheBudgetUnlessToldOtherwise) {
  const ScheduleSpec spec{.min_lr_ratio = 0.5};
  EXPECT_DOUBLE_EQ(LearningRate(spec, 2.0, 100, 0), 2.0);
  EXPECT_DOUBLE_EQ(LearningRate(spec, 2.0, 100, 50), 1.5);
  EXPECT_DOUBLE_EQ(LearningRate(spec, 2.0, 100, 100), 1.0);
}

}  // namespace
}  // namespace gp::engine
