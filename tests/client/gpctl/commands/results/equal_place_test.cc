#include "client/gpctl/commands/results/equal_place.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gp::gpctl {
namespace {

// A step has 10 tokens and takes 2 seconds.
v1::CurvePoints Of(const std::vector<std::pair<int64_t, double>>& points) {
  v1::CurvePoints curve;
  for (const auto& [step, value] : points) {
    curve.add_steps(step);
    curve.add_tokens(step * 10);
    curve.add_seconds(static_cast<double>(step) * 2);
    curve.add_values(value);
  }
  return curve;
}

TEST(EqualPlace, TheCommonEndIsTheSmallestLast) {
  const auto a = Of({{100, 5}, {300, 3}});
  const auto b = Of({{100, 5}, {200, 4}});
  EXPECT_EQ(CommonEnd({&a, &b}, AxisKind::kSteps), 200);
  EXPECT_EQ(CommonEnd({&a, &b}, AxisKind::kTokens), 2000);
  EXPECT_EQ(CommonEnd({&a, &b}, AxisKind::kTime), 400);
  const auto none = Of({});
  EXPECT_EQ(CommonEnd({&a, &none}, AxisKind::kSteps), std::nullopt);
}

TEST(EqualPlace, TheCommonStepIsTheLastThatAllHave) {
  const auto a = Of({{100, 5}, {200, 4}, {300, 3}});
  const auto b = Of({{50, 6}, {200, 4}, {250, 3.5}});
  EXPECT_EQ(CommonStep({&a, &b}), 200);
  const auto c = Of({{70, 1}});
  EXPECT_EQ(CommonStep({&a, &c}), std::nullopt);
  EXPECT_EQ(CommonStep({}), std::nullopt);
}

TEST(EqualPlace, ValuesBetweenPointsAreOnAStraightLine) {
  const auto curve = Of({{100, 5}, {200, 4}});
  EXPECT_EQ(ValueAt(curve, 100, AxisKind::kSteps), 5);
  EXPECT_EQ(ValueAt(curve, 200, AxisKind::kSteps), 4);
  EXPECT_EQ(ValueAt(curve, 150, AxisKind::kSteps), 4.5);
  EXPECT_EQ(ValueAt(curve, 1250, AxisKind::kTokens), 4.75);
  EXPECT_EQ(ValueAt(curve, 99, AxisKind::kSteps), std::nullopt);
  EXPECT_EQ(ValueAt(curve, 201, AxisKind::kSteps), std::nullopt);
}

TEST(EqualPlace, TheMeanIsOfTheLastValuesUpToThePlace) {
  const auto curve = Of({{1, 10}, {2, 4}, {3, 2}, {4, 100}});
  EXPECT_EQ(MeanBefore(curve, 3, AxisKind::kSteps, 2), 3);
  EXPECT_EQ(MeanBefore(curve, 3, AxisKind::kSteps, 50), 16.0 / 3);
  EXPECT_EQ(MeanBefore(curve, 0, AxisKind::kSteps, 2), std::nullopt);
  EXPECT_TRUE(std::isnan(*MeanBefore(Of({{1, 1}, {2, NAN}}), 2, AxisKind::kSteps, 2)));
}

}  // namespace
}  // namespace gp::gpctl
