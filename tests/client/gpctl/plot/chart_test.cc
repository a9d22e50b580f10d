#include "client/gpctl/plot/chart.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gp::gpctl {
namespace {

Chart Of(std::vector<double> y, bool log = false) {
  Curve curve{.label = "tiny"};
  for (size_t i = 0; i < y.size(); ++i) curve.x.push_back(static_cast<double>(i + 1));
  curve.y = std::move(y);
  Chart chart;
  chart.log = log;
  chart.curves.push_back(std::move(curve));
  return chart;
}

using Words = std::vector<std::string>;

TEST(Chart, AxesFitThePointsThatCanBeDrawn) {
  const ChartAxes axes = AxesOf(Of({4, NAN, 2, INFINITY}));
  EXPECT_EQ(axes.x.range, (Range{1, 4}));
  EXPECT_LT(axes.y.range.low, 2);
  EXPECT_GT(axes.y.range.low, 1.5);
  EXPECT_GT(axes.y.range.high, 4);
}

TEST(Chart, AxesOfOnePointAndOfEqualValuesCanBeDividedBy) {
  for (const Chart& chart :
       {Of({3}), Of({3, 3, 3}), Of({0, 0}), Of({}), Of({NAN}), Of({0, 0}, true)}) {
    const ChartAxes axes = AxesOf(chart);
    EXPECT_LT(axes.x.range.low, axes.x.range.high);
    EXPECT_LT(axes.y.range.low, axes.y.range.high);
    if (chart.log) EXPECT_GT(axes.y.range.low, 0);
  }
}

TEST(Chart, ValuesThatAreNeverNegativeHaveAnAxisThatIsNot) {
  EXPECT_EQ(AxesOf(Of({0, 10})).y.range.low, 0);
  EXPECT_LT(AxesOf(Of({-1, 10})).y.range.low, -1);
}

TEST(Chart, SaysWhichPointsAreNotDrawn) {
  EXPECT_EQ(MissingPointNotes(Of({3, 2, 1})), Words{});
  EXPECT_EQ(MissingPointNotes(Of({3, NAN, 1})),
            Words{"tiny: 1 point is not finite (the first: nan at step 2)"});
  EXPECT_EQ(MissingPointNotes(Of({3, INFINITY, NAN})),
            Words{"tiny: 2 points are not finite (the first: inf at step 2)"});
  EXPECT_EQ(
      MissingPointNotes(Of({0, 0.5, -1}, true)),
      Words{"tiny: values of 0 or less are not on the logarithmic axis (the first: 0 at step 1)"});
}

TEST(Chart, CountsPointsThatAReductionLeftOut) {
  Chart chart = Of({3, NAN, 1});
  chart.curves[0].not_finite = 1234;
  EXPECT_EQ(MissingPointNotes(chart),
            Words{"tiny: 1,234 points are not finite (the first: nan at step 2)"});
}

}  // namespace
}  // namespace gp::gpctl
