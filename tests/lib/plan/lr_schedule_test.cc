// Goal: the learning rates at the corners of every schedule equal values computed by hand.
#include "plan/lr_schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

namespace gp::runspec {
namespace {

struct Row {
  ScheduleKind kind;
  WarmupForm form;
  int64_t step;
  double rate;  // for a learning rate of 1
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
      {ScheduleKind::kPower, kNano, 10, 1.0},        {ScheduleKind::kPower, kNano, 35, 0.60625},
      {ScheduleKind::kPower, kNano, 110, 0.1},       {ScheduleKind::kPower, kNano, 3, 4.0 / 11},
  };
  for (const Row& row : rows) {
    const ScheduleSpec spec{.kind = row.kind,
                            .warmup_steps = 10,
                            .warmup_form = row.form,
                            .min_lr_ratio = 0.1,
                            .power = 2,
                            .decay_steps = 110};
    EXPECT_NEAR(LearningRate(spec, 1.0, 5, row.step), row.rate, 1e-12)
        << "kind " << static_cast<int>(row.kind) << " step " << row.step;
  }
}

struct Published {
  ScheduleSpec spec;
  double lr;
  int64_t steps;
  std::vector<std::pair<int64_t, double>> rates;  // by step
};

// Expected values from get_lr of the programs that published these recipes, in double precision.
TEST(LearningRate, EqualsThePublishedSchedules) {
  const Published recipes[] = {
      // nanoGPT, config/train_shakespeare_char.py.
      {{.kind = ScheduleKind::kCosine, .warmup_steps = 100},
       1e-3,
       5000,
       {{0, 9.9009900990099013e-06},
        {50, 0.00050495049504950497},
        {99, 0.00099009900990099011},
        {100, 0.001},
        {1000, 0.00092713964720132823},
        {2550, 0.00055},
        {4999, 0.00010000009248900101},
        {5000, 0.0001},
        {6000, 0.0001}}},
      // build-nanogpt, train_gpt2.py: 10 billion tokens in steps of 2^19.
      {{.kind = ScheduleKind::kCosine,
        .warmup_steps = 715,
        .warmup_form = WarmupForm::kBuildNanoGpt},
       6e-4,
       19073,
       {{0, 8.3916083916083904e-07},
        {357, 0.00030041958041958041},
        {714, 0.0006},
        {715, 0.0006},
        {5000, 0.00053060375143592557},
        {9894, 0.00033},
        {19072, 6.0000003953509464e-05},
        {19073, 6e-05},
        {30000, 6e-05}}},
      // llm.c, -k linear.
      {{.kind = ScheduleKind::kLinear,
        .warmup_steps = 700,
        .warmup_form = WarmupForm::kBuildNanoGpt,
        .min_lr_ratio = 0},
       3e-4,
       20000,
       {{0, 4.2857142857142851e-07},
        {699, 0.0003},
        {700, 0.0003},
        {10350, 0.00015},
        {19999, 1.5544041450797803e-08}}},
      // llm.c, -k constant.
      {{.kind = ScheduleKind::kConstant,
        .warmup_steps = 10,
        .warmup_form = WarmupForm::kBuildNanoGpt},
       3e-4,
       100,
       {{0, 3e-5}, {9, 3e-4}, {10, 3e-4}, {1000, 3e-4}}},
  };
  for (const Published& recipe : recipes) {
    for (const auto& [step, rate] : recipe.rates) {
      EXPECT_NEAR(LearningRate(recipe.spec, recipe.lr, recipe.steps, step), rate, 1e-12 * recipe.lr)
          << "lr " << recipe.lr << " step " << step;
    }
  }
}

TEST(LearningRate, DecaysOverTheBudgetUnlessToldOtherwise) {
  const ScheduleSpec spec{.min_lr_ratio = 0.5};
  EXPECT_DOUBLE_EQ(LearningRate(spec, 2.0, 100, 0), 2.0);
  EXPECT_DOUBLE_EQ(LearningRate(spec, 2.0, 100, 50), 1.5);
  EXPECT_DOUBLE_EQ(LearningRate(spec, 2.0, 100, 100), 1.0);
}

}  // namespace
}  // namespace gp::runspec
