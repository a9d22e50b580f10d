#include "client/gpctl/plot/axis.h"

#include <gtest/gtest.h>

namespace gp::gpctl {
namespace {

std::vector<std::string> Texts(const Axis& axis, int count_max) {
  std::vector<std::string> texts;
  for (const Tick& tick : TicksOf(axis, count_max)) texts.push_back(tick.text);
  return texts;
}

using Words = std::vector<std::string>;

TEST(Axis, TicksAreAtRoundValues) {
  EXPECT_EQ(Texts({{2.9, 11.2}}, 5), (Words{"4", "6", "8", "10"}));
  EXPECT_EQ(Texts({{3.21, 3.34}}, 4), (Words{"3.25", "3.30"}));
  EXPECT_EQ(Texts({{0, 0.0006}}, 4), (Words{"0", "2e-04", "4e-04", "6e-04"}));
  EXPECT_EQ(Texts({{0, 1.7e6}}, 4), (Words{"0", "0.5M", "1.0M", "1.5M"}));
  EXPECT_EQ(Texts({{-1, 1}}, 5), (Words{"-1.0", "-0.5", "0.0", "0.5", "1.0"}));
}

TEST(Axis, StepsAndTokensAreWholeNumbers) {
  EXPECT_EQ(Texts({{1, 3}, AxisKind::kSteps}, 8), (Words{"1", "2", "3"}));
  EXPECT_EQ(Texts({{1, 2000}, AxisKind::kSteps}, 4), (Words{"500", "1,000", "1,500", "2,000"}));
  EXPECT_EQ(Texts({{1, 1e6}, AxisKind::kSteps}, 3), (Words{"0.5M", "1.0M"}));
  EXPECT_EQ(Texts({{0, 1e9}, AxisKind::kTokens}, 3), (Words{"0", "0.5B", "1.0B"}));
}

TEST(Axis, TimesAreWholeMinutesHoursAndDays) {
  EXPECT_EQ(Texts({{0, 100}, AxisKind::kTime}, 5), (Words{"0", "30s", "1m", "1m30s"}));
  EXPECT_EQ(Texts({{0, 7200}, AxisKind::kTime}, 5), (Words{"0", "30m", "1h", "1h30m", "2h"}));
  EXPECT_EQ(Texts({{0, 400'000}, AxisKind::kTime}, 5), (Words{"0", "1d", "2d", "3d", "4d"}));
  EXPECT_EQ(Texts({{0, 0.4}, AxisKind::kTime}, 3), (Words{"0", "0.2s", "0.4s"}));
}

TEST(Axis, LogarithmicTicksArePowersOfTenAndBetweenThem) {
  EXPECT_EQ(Texts({{2.9, 11.2}, AxisKind::kNumber, true}, 8),
            (Words{"3", "4", "5", "6", "7", "8", "9", "10"}));
  EXPECT_EQ(Texts({{0.9, 110}, AxisKind::kNumber, true}, 8),
            (Words{"1", "2", "5", "10", "20", "50", "100"}));
  EXPECT_EQ(Texts({{1e-6, 1}, AxisKind::kNumber, true}, 4), (Words{"1e-06", "1e-04", "0.01", "1"}));
  EXPECT_EQ(Texts({{3.1, 3.4}, AxisKind::kNumber, true}, 4), (Words{"3.1", "3.2", "3.3", "3.4"}));
}

TEST(Axis, NeverHasMoreTicksThanWanted) {
  for (int count = 1; count < 12; ++count) {
    for (const double high : {0.0031, 1.0, 17.3, 99.99, 12345.0, 3.3e9}) {
      for (const AxisKind kind :
           {AxisKind::kNumber, AxisKind::kSteps, AxisKind::kTokens, AxisKind::kTime}) {
        EXPECT_LE(Texts({{0, high}, kind}, count).size(), static_cast<size_t>(count)) << high;
      }
      EXPECT_LE(Texts({{high / 1000, high}, AxisKind::kNumber, true}, count).size(),
                static_cast<size_t>(count));
    }
  }
}

TEST(Axis, EqualEndsAreMovedApart) {
  EXPECT_EQ(Widened({2, 2}, false), (AxisRange{1.9, 2.1}));
  EXPECT_EQ(Widened({0, 0}, false), (AxisRange{-1, 1}));
  EXPECT_EQ(Widened({2, 2}, true), (AxisRange{1, 4}));
  EXPECT_EQ(Widened({2, 3}, false), (AxisRange{2, 3}));
}

}  // namespace
}  // namespace gp::gpctl
