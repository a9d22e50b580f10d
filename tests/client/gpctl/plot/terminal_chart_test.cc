#include "client/gpctl/plot/terminal_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "client/gpctl/golden.h"
#include "client/gpctl/plot/sample_charts.h"
#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {
namespace {

using ::gp::testing::ExpectGolden;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Drawn(const Chart& chart, ChartSize size, ChartStyle style = {}) {
  std::string text;
  for (const std::string& line : DrawChart(chart, size, style)) text += line + "\n";
  return text;
}

TEST(TerminalChart, LooksAsRecorded) {
  ExpectGolden("chart_loss_100.txt", Drawn(SampleLossChart(), {100, 24}));
  ExpectGolden("chart_loss_80_ascii.txt", Drawn(SampleLossChart(), {80, 20}, {.utf8 = false}));
  ExpectGolden("chart_rate_60.txt", Drawn(SampleRateChart(), {60, 12}));
  ExpectGolden("chart_gap_80_ascii.txt", Drawn(SampleGapChart(), {80, 16}, {.utf8 = false}));
  ExpectGolden("chart_gap_80.txt", Drawn(SampleGapChart(), {80, 16}));
}

TEST(TerminalChart, FitsEverySize) {
  const Chart chart = SampleLossChart();
  for (int columns = 1; columns <= 90; columns += columns < 30 ? 1 : 15) {
    for (int rows = 1; rows <= 30; ++rows) {
      for (const bool utf8 : {true, false}) {
        const auto lines = DrawChart(chart, {columns, rows}, {.utf8 = utf8});
        ASSERT_LE(lines.size(), static_cast<size_t>(rows)) << columns;
        ASSERT_FALSE(lines.empty());
        for (const std::string& line : lines) ASSERT_LE(DisplayWidth(line), columns) << line;
      }
    }
  }
  EXPECT_TRUE(DrawChart(chart, {0, 0}, {}).empty());
}

TEST(TerminalChart, UsesColorsOnlyWhenWanted) {
  EXPECT_THAT(Drawn(SampleLossChart(), {80, 20}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(Drawn(SampleLossChart(), {80, 20}, {.color = true}), HasSubstr("\x1b[94m"));
}

// The rows of the canvas, without the axis at their left.
std::string Canvas(const Chart& chart, const ChartStyle& style) {
  std::string text;
  for (const std::string& line : DrawChart(chart, {60, 10}, style)) {
    for (const char* edge : {"│", "┤", "|", "+"}) {
      const size_t at = line.find(edge);
      if (at != std::string::npos) text += line.substr(at + std::strlen(edge)) + "\n";
    }
  }
  return text;
}

Chart FlatChart(Stroke stroke, int color = 0) {
  Chart chart{.title = "loss"};
  chart.curves.push_back(
      {.label = "a", .x = {1, 100}, .y = {3, 3}, .color = color, .stroke = stroke});
  return chart;
}

TEST(TerminalChart, EachStrokeLooksDifferent) {
  for (const bool utf8 : {true, false}) {
    std::set<std::string> looks;
    for (const Stroke stroke :
         {Stroke::kSolid, Stroke::kDashed, Stroke::kDotted, Stroke::kDashDotted}) {
      looks.insert(Canvas(FlatChart(stroke), {.utf8 = utf8}));
    }
    EXPECT_EQ(looks.size(), 4u) << utf8;
  }
}

TEST(TerminalChart, ADashedCurveHasGapsAlsoBesideAnotherOne) {
  Chart chart = FlatChart(Stroke::kSolid);
  chart.curves.push_back({.x = {1, 100}, .y = {4, 4}, .stroke = Stroke::kDashed});
  chart.curves.push_back({.label = "b", .x = {1, 100}, .y = {5, 5}, .color = 1});
  EXPECT_THAT(Canvas(chart, {}), HasSubstr("AAA   AAA   AAA"));
  EXPECT_THAT(Canvas(chart, {}), HasSubstr("aaaaaaaaaaaaaaa"));
  EXPECT_THAT(Canvas(chart, {}), HasSubstr("bbbbbbbbbbbbbbb"));
  EXPECT_THAT(Canvas(chart, {.color = true}), HasSubstr("\x1b[0m   \x1b[94m"));
}

TEST(TerminalChart, HasLettersWhereColorsRepeat) {
  Chart chart{.title = "loss"};
  const auto add = [&](int color) {
    chart.curves.push_back({.label = "run-" + std::to_string(color),
                            .x = {1, 100},
                            .y = {3.0 + color, 3.0 + color},
                            .color = color});
  };
  for (int color = 0; color < 8; ++color) add(color);
  EXPECT_THAT(Drawn(chart, {80, 40}, {.color = true}), Not(HasSubstr("aaaa")));
  add(8);
  const std::string text = Drawn(chart, {80, 40}, {.color = true});
  EXPECT_THAT(text, HasSubstr("\x1b[94maaaa"));
  EXPECT_THAT(text, HasSubstr("\x1b[94miiii"));
  EXPECT_THAT(text, HasSubstr("\x1b[94mi\x1b[0m run-8"));
}

TEST(TerminalChart, DrawsOnePointAndNone) {
  Chart chart{.title = "loss"};
  chart.curves.push_back({.label = "tiny", .x = {5}, .y = {3.5}});
  EXPECT_THAT(Drawn(chart, {40, 10}), HasSubstr("tiny 3.5"));
  chart.curves[0] = {.label = "tiny"};
  EXPECT_THAT(Drawn(chart, {40, 10}), HasSubstr("tiny -"));
  EXPECT_EQ(DrawChart(Chart(), {40, 10}, {}).size(), 10u);
}

TEST(TerminalChart, MarksValuesThatAreNotFinite) {
  Chart chart{.title = "loss"};
  chart.curves.push_back({.label = "a", .x = {1, 2, 3, 4}, .y = {3, NAN, INFINITY, -INFINITY}});
  const std::string text = Drawn(chart, {40, 10});
  EXPECT_THAT(text, HasSubstr("x"));
  EXPECT_THAT(text, HasSubstr("^"));
  EXPECT_THAT(text, HasSubstr("v"));
}

TEST(TerminalChart, CleansLabels) {
  Chart chart{.title = "loss\x1b[2J"};
  chart.curves.push_back({.label = "a\x1b[31mb\n", .x = {1, 2}, .y = {3, 4}});
  EXPECT_THAT(Drawn(chart, {60, 12}), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace gp::gpctl
