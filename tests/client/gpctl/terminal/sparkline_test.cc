#include "client/gpctl/terminal/sparkline.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gp::gpctl {
namespace {

TEST(Sparkline, ScalesFromSmallestToLargest) {
  EXPECT_EQ(Sparkline({1, 2, 3, 4, 5, 6, 7}, 10, true), "▁▂▃▄▅▆▇");
  EXPECT_EQ(Sparkline({3, 2, 1}, 10, false), "#=_");
  EXPECT_EQ(Sparkline({5, 5, 5}, 10, true), "▁▁▁");
  EXPECT_EQ(Sparkline({}, 10, true), "");
}

TEST(Sparkline, SqueezesAndKeepsTheNewestValue) {
  std::vector<double> values(1000, 1.0);
  values.back() = 2.0;
  EXPECT_EQ(Sparkline(values, 4, true), "▁▁▁▇");
  EXPECT_EQ(Sparkline({1, 1, 1, 1, 1, 1, 1, 1, 1, 2}, 4, true), "▁▁▁▇") << "in its own cell alone";
}

TEST(Sparkline, ShowsValuesThatAreNotFinite) {
  EXPECT_EQ(Sparkline({1, NAN, 2}, 10, true), "▁x▇");
  EXPECT_EQ(Sparkline({NAN, INFINITY}, 10, true), "xx");
}

TEST(ProgressBar, FillsInEighths) {
  EXPECT_EQ(ProgressBar(0, 6, true), "[    ]");
  EXPECT_EQ(ProgressBar(0.5, 6, true), "[██  ]");
  EXPECT_EQ(ProgressBar(0.53125, 6, true), "[██▏ ]");
  EXPECT_EQ(ProgressBar(1, 6, true), "[████]");
  EXPECT_EQ(ProgressBar(7, 6, false), "[####]");
  EXPECT_EQ(ProgressBar(NAN, 6, false), "[    ]");
}

}  // namespace
}  // namespace gp::gpctl
