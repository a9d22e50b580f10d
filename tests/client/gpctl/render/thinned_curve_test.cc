#include "client/gpctl/render/thinned_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace gp::gpctl {
namespace {

std::vector<int64_t> StepsOf(const ThinnedCurve& curve) {
  std::vector<int64_t> steps;
  for (const ThinnedCurve::Point& point : curve.points()) steps.push_back(point.step);
  return steps;
}

TEST(ThinnedCurve, KeepsTheWholeRunAndItsExtremesInBoundedMemory) {
  ThinnedCurve curve(64);
  for (int64_t step = 0; step < 100'000; ++step) {
    curve.Add(step, step == 777 ? 50 : step == 60'000 ? -50 : std::sin(static_cast<double>(step)));
  }
  EXPECT_LT(curve.points().size(), 64u);
  EXPECT_TRUE(std::is_sorted(curve.points().begin(), curve.points().end(),
                             [](const auto& a, const auto& b) { return a.step < b.step; }));
  const auto has = [&](int64_t step) {
    const std::vector<int64_t> steps = StepsOf(curve);
    return std::find(steps.begin(), steps.end(), step) != steps.end();
  };
  EXPECT_TRUE(has(777));
  EXPECT_TRUE(has(60'000));
  EXPECT_TRUE(has(99'999));
  EXPECT_LT(curve.points().front().step, 3000);
}

TEST(ThinnedCurve, KeepsValuesThatAreNotFinite) {
  ThinnedCurve curve(8);
  for (int64_t step = 0; step < 100; ++step) curve.Add(step, step == 40 ? NAN : 1.0);
  EXPECT_TRUE(std::any_of(curve.points().begin(), curve.points().end(),
                          [](const auto& point) { return std::isnan(point.value); }));
}

TEST(ThinnedCurve, ReplacesStepsThatARestartRepeats) {
  ThinnedCurve curve;
  for (int64_t step = 1; step <= 10; ++step) curve.Add(step, 1);
  curve.Add(6, 2);
  EXPECT_EQ(StepsOf(curve), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(curve.points().back().value, 2);
}

}  // namespace
}  // namespace gp::gpctl
