#include "client/gpctl/terminal/screen_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace gp::gpctl {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Texts(const std::vector<ScreenLine>& lines) {
  std::vector<std::string> texts;
  for (const ScreenLine& line : lines) texts.push_back(line.Text(false));
  return texts;
}

ScreenPart Part(int least, int most, int rank, int weight = 1) {
  return {least, most, rank, weight, [](int rows) { return std::vector<ScreenLine>(rows); }};
}

TEST(ScreenParts, LeaveOutThePartsOfTheHighestRankWhereRowsAreShort) {
  const std::vector<ScreenPart> parts = {Part(1, 1, 0), Part(4, 9, 2), Part(2, 2, 1)};
  EXPECT_THAT(ShareRows(parts, 2), ElementsAre(1, 0, 0));
  EXPECT_THAT(ShareRows(parts, 3), ElementsAre(1, 0, 2));
  EXPECT_THAT(ShareRows(parts, 7), ElementsAre(1, 4, 2));
  EXPECT_THAT(ShareRows(parts, 0), ElementsAre(0, 0, 0));
}

TEST(ScreenParts, GrowByWeightUpToTheirMost) {
  const std::vector<ScreenPart> parts = {Part(1, 100, 0, 3), Part(1, 100, 0, 1), Part(1, 2, 0, 9)};
  EXPECT_THAT(ShareRows(parts, 16), ElementsAre(10, 4, 2));
  EXPECT_THAT(ShareRows({Part(1, 3, 0)}, 10), ElementsAre(3));
}

TEST(ScreenParts, FillTheScreenExactly) {
  const std::vector<ScreenPart> parts = {FixedPart({ScreenLine("head")}, 0),
                                         {.least = 1, .most = 5, .rank = 1, .draw = [](int rows) {
                                            return std::vector<ScreenLine>(
                                                static_cast<size_t>(rows) + 3, ScreenLine("x"));
                                          }}};
  EXPECT_THAT(Texts(Stacked(parts, 3)), ElementsAre("head", "x", "x"));
  EXPECT_THAT(Texts(Stacked(parts, 8)), ElementsAre("head", "x", "x", "x", "x", "x", "", ""));
  EXPECT_THAT(Stacked(parts, -1), ElementsAre());
}

}  // namespace
}  // namespace gp::gpctl
