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
  EXPECT_EQ(axes.x.range, (AxisRange{1, 4}));
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
    EXPECT_TRUE(!chart.log || axes.y.range.low > 0);
  }
}

TEST(Chart, ValuesThatAreNeverNegativeHaveAnAxisThatIsNot) {
  EXPECT_EQ(AxesOf(Of({0, 10})).y.range.low, 0);
  EXPECT_LT(AxesOf(Of({-1, 10})).y.range.low, -1);
}

TEST(Chart, SaysWhichPointsAreNotDrawn) {
  EXPECT_EQ(MissingPointNotes(Of({3, 2, 1})), Words{});
  EXPECT_EQ(MissingPointNotes(Of({3, NAN, 1})), Words{"tiny: nan at step 2"});
  EXPECT_EQ(MissingPointNotes(Of({3, INFINITY, NAN})),
            Words{"tiny: not finite from step 2 to step 3"});
  EXPECT_EQ(MissingPointNotes(Of({3, INFINITY})), Words{"tiny: inf at step 2"});
  EXPECT_EQ(MissingPointNotes(Of({3, NAN, 3, NAN, NAN, 3, NAN})),
            Words{"tiny: nan at step 2, and 2 more gaps up to step 7"});
  EXPECT_EQ(
      MissingPointNotes(Of({0, 0.5, -1}, true)),
      Words{"tiny: 0 or less, so not on the logarithmic axis, at step 1, and 1 more gap up to "
            "step 3"});
}

}  // namespace
}  // namespace gp::gpctl
