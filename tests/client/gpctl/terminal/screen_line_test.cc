#include "client/gpctl/terminal/screen_line.h"

#include <gtest/gtest.h>

namespace gp::gpctl {
namespace {

TEST(ScreenLine, KeepsTheColoursOfItsParts) {
  ScreenLine line("step ");
  line.Add("7", Color::kGreen).Add("!");
  EXPECT_EQ(line.Text(true), "step \x1b[32m7\x1b[0m!");
  EXPECT_EQ(line.Text(false), "step 7!");
  EXPECT_EQ(line.width(), 7);
}

TEST(ScreenLine, IsCutAtAColumnAndMarkedThere) {
  ScreenLine line("abc");
  line.Add("déf", Color::kRed).Add("ghi");
  EXPECT_EQ(line.Cut(9, true).Text(false), "abcdéfghi");
  EXPECT_EQ(line.Cut(8, true).Text(false), "abcdéfg…");
  EXPECT_EQ(line.Cut(6, true).Text(true), "abc\x1b[31mdé…\x1b[0m");
  EXPECT_EQ(line.Cut(3, false).Text(false), "ab~");
  EXPECT_EQ(line.Cut(0, true).Text(false), "");
  for (int width = 0; width < 12; ++width) EXPECT_LE(line.Cut(width, true).width(), width);
}

TEST(ScreenLine, TakesTextThatIsColouredAlready) {
  const ScreenLine line = ScreenLine::OfColored("a\x1b[94mb\x1b[0m c");
  EXPECT_EQ(line.width(), 4);
  EXPECT_EQ(line.Text(false), "ab c");
  EXPECT_EQ(line.Text(true), "a\x1b[94mb\x1b[0m c");
  EXPECT_EQ(ScreenLine::OfColored("a\x1b[9").Text(false), "a");
}

TEST(ScreenLine, PlacesBlocksBesideEachOther) {
  const std::vector<ScreenLine> left = {ScreenLine("one"), ScreenLine("too long")};
  const std::vector<ScreenLine> right = {ScreenLine("1"), ScreenLine("2"), ScreenLine("3")};
  const std::vector<ScreenLine> both = Beside(left, 5, right, 3, 2, true);
  ASSERT_EQ(both.size(), 3u);
  EXPECT_EQ(both[0].Text(false), "one    1");
  EXPECT_EQ(both[1].Text(false), "too …  2");
  EXPECT_EQ(both[2].Text(false), "       3");
}

}  // namespace
}  // namespace gp::gpctl
