#include "client/gpctl/plot/smoothing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace gp::gpctl {
namespace {

using Values = std::vector<double>;

TEST(Smoothing, IsTheMeanOfTheValuesAround) {
  EXPECT_EQ(Smoothed({1, 2, 6, 2, 1}, 3), (Values{1, 3, 10.0 / 3, 3, 1}));
  EXPECT_EQ(Smoothed({1, 2, 6}, 1), (Values{1, 2, 6}));
  EXPECT_EQ(Smoothed({}, 5), Values{});
  EXPECT_EQ(Smoothed({4}, 100), Values{4});
}

TEST(Smoothing, KeepsGapsAndCountsThemInNoMean) {
  const Values smoothed = Smoothed({1, NAN, 3, INFINITY, 5}, 3);
  EXPECT_EQ(smoothed[0], 1);
  EXPECT_TRUE(std::isnan(smoothed[1]));
  EXPECT_EQ(smoothed[2], 3);
  EXPECT_EQ(smoothed[3], INFINITY);
}

TEST(Thinning, KeepsTheEndsTheExtremesAndTheGaps) {
  Curve curve;
  for (int i = 0; i < 100'000; ++i) {
    curve.x.push_back(i);
    curve.y.push_back(i == 55'555 ? 9 : i == 66'666 ? NAN : 1);
  }
  const Curve thin = Thinned(curve, 1000);
  EXPECT_LE(thin.x.size(), 1004u);
  EXPECT_EQ(thin.x.size(), thin.y.size());
  EXPECT_EQ(thin.x.front(), 0);
  EXPECT_EQ(thin.x.back(), 99'999);
  EXPECT_TRUE(std::is_sorted(thin.x.begin(), thin.x.end()));
  EXPECT_EQ(*std::max_element(thin.x.begin(), thin.x.end()), 99'999);
  const auto gap =
      std::find_if(thin.y.begin(), thin.y.end(), [](double y) { return std::isnan(y); });
  ASSERT_NE(gap, thin.y.end());
  EXPECT_EQ(thin.x[gap - thin.y.begin()], 66'666);
  EXPECT_NE(std::find(thin.x.begin(), thin.x.end(), 55'555), thin.x.end());
}

TEST(Thinning, LeavesAShortCurve) {
  Curve curve{.x = {1, 2, 3}, .y = {1, 2, 3}};
  EXPECT_EQ(Thinned(curve, 4).x, curve.x);
}

}  // namespace
}  // namespace gp::gpctl
