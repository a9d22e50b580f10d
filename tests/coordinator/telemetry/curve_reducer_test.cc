#include "coordinator/telemetry/curve_reducer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace gp::coordinator {
namespace {

std::vector<CurvePoint> Reduced(const std::vector<double>& values, size_t points_max) {
  CurveReducer reducer(points_max);
  for (size_t i = 0; i < values.size(); ++i) {
    reducer.Add({.step = static_cast<int64_t>(i), .value = values[i]});
  }
  return reducer.Points();
}

std::vector<int64_t> Steps(const std::vector<CurvePoint>& points) {
  std::vector<int64_t> steps;
  for (const CurvePoint& point : points) steps.push_back(point.step);
  return steps;
}

bool Has(const std::vector<CurvePoint>& points, int64_t step) {
  return std::any_of(points.begin(), points.end(),
                     [step](const CurvePoint& point) { return point.step == step; });
}

TEST(CurveReducer, KeepsAShortCurveWhole) {
  EXPECT_TRUE(Reduced({}, 10).empty());
  EXPECT_EQ(Steps(Reduced({5}, 10)), (std::vector<int64_t>{0}));
  for (const size_t count : {2u, 9u, 10u}) {
    EXPECT_EQ(Reduced(std::vector<double>(count, 3.0), 10).size(), count) << "equal values";
    std::vector<double> values;
    for (size_t i = 0; i < count; ++i) values.push_back(std::sin(static_cast<double>(i)));
    EXPECT_EQ(Reduced(values, 10).size(), count);
  }
}

TEST(CurveReducer, KeepsTheEndsAndTheExtremes) {
  std::vector<double> values(100'000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(i * 0.001);
  values[77'777] = 50;
  values[12'345] = -50;
  const std::vector<CurvePoint> points = Reduced(values, 1000);
  EXPECT_LE(points.size(), 1002u);
  EXPECT_GE(points.size(), 500u);
  EXPECT_TRUE(Has(points, 0));
  EXPECT_TRUE(Has(points, 99'999));
  EXPECT_TRUE(Has(points, 77'777));
  EXPECT_TRUE(Has(points, 12'345));
  EXPECT_TRUE(std::is_sorted(
      points.begin(), points.end(),
      [](const CurvePoint& one, const CurvePoint& other) { return one.step < other.step; }));
}

TEST(CurveReducer, KeepsTheExtremesOfEveryStretch) {
  // A peak and a trough every 1000 points.
  std::vector<double> values(50'000, 1.0);
  for (size_t i = 500; i < values.size(); i += 1000) {
    values[i] = 2;
    values[i + 250] = 0;
  }
  const std::vector<CurvePoint> points = Reduced(values, 400);
  for (size_t i = 500; i < values.size(); i += 1000) {
    EXPECT_TRUE(Has(points, static_cast<int64_t>(i)));
    EXPECT_TRUE(Has(points, static_cast<int64_t>(i) + 250));
  }
}

TEST(CurveReducer, KeepsWhereValuesAreNotFinite) {
  std::vector<double> values(10'000, 1.0);
  for (size_t i = 3333; i <= 4444; ++i) values[i] = NAN;
  values[9000] = INFINITY;
  const std::vector<CurvePoint> points = Reduced(values, 100);
  EXPECT_TRUE(Has(points, 3333));
  EXPECT_TRUE(Has(points, 4444));
  EXPECT_TRUE(Has(points, 9000));
  EXPECT_LE(points.size(), 202u);
}

}  // namespace
}  // namespace gp::coordinator
