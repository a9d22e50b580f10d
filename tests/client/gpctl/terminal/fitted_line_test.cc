#include "client/gpctl/terminal/fitted_line.h"

#include <gtest/gtest.h>

namespace gp::gpctl {
namespace {

TEST(FittedLine, LeavesOutTheHighestRankFirst) {
  const std::vector<LinePart> parts = {{"aa"}, {"bb", 1}, {""}, {"cc", 2}, {"dd"}};
  EXPECT_EQ(FittedLine(parts, " | ", 0), "aa | bb | cc | dd");
  EXPECT_EQ(FittedLine(parts, " | ", 16), "aa | bb | dd");
  EXPECT_EQ(FittedLine(parts, " | ", 11), "aa | dd");
  EXPECT_EQ(FittedLine(parts, " | ", 3), "aa | dd") << "rank 0 stays";
}

}  // namespace
}  // namespace gp::gpctl
