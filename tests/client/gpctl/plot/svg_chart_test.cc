#include "client/gpctl/plot/svg_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <regex>

#include "base/file.h"
#include "client/gpctl/golden.h"
#include "client/gpctl/plot/sample_charts.h"

namespace gp::gpctl {
namespace {

using ::gp::testing::ExpectGolden;
using ::testing::HasSubstr;
using ::testing::Not;

// The recorded pictures have been looked at: rsvg-convert shows one as PNG.
TEST(SvgChart, LooksAsRecorded) {
  const SvgPicture loss{.title = "base, lr-9e-4 and a-run-with-a-long-name",
                        .panels = {SampleLossChart(60)}};
  ExpectGolden("plot_loss_light.svg", SvgText(loss, kLightTheme));
  ExpectGolden("plot_loss_dark.svg", SvgText(loss, kDarkTheme));
  const Chart chart = SampleGapChart();
  const SvgPicture gap{.title = "tiny",
                       .subtitle = "logarithmic y axis",
                       .panels = {chart},
                       .notes = MissingPointNotes(chart)};
  ExpectGolden("plot_gap_light.svg", SvgText(gap, kLightTheme));
  ExpectGolden("plot_gap_dark.svg", SvgText(gap, kDarkTheme));
  SvgPicture panels{.title = "base, lr-9e-4 and a-run-with-a-long-name",
                    .panels = {SampleLossChart(60), SampleRateChart(60)}};
  panels.panels[1].x_axis = AxisKind::kSteps;
  panels.panels[1].curves[0].x = panels.panels[0].curves[0].x;
  for (Chart& panel : panels.panels) panel.x_range = AxisRange{1, 60};
  ExpectGolden("plot_panels_light.svg", SvgText(panels, kLightTheme));
  ExpectGolden("plot_panels_dark.svg", SvgText(panels, kDarkTheme));
}

std::string Drawn(const Chart& chart) {
  return SvgText({.title = "a picture", .panels = {chart}}, kLightTheme);
}

Chart PlainChart(std::vector<double> y, bool log = false) {
  Chart chart{.title = "loss", .log = log};
  Curve curve{.label = "tiny"};
  for (size_t i = 0; i < y.size(); ++i) curve.x.push_back(static_cast<double>(i + 1));
  curve.y = std::move(y);
  chart.curves.push_back(std::move(curve));
  return chart;
}

TEST(SvgChart, DrawsOnePointAsADot) {
  EXPECT_THAT(Drawn(PlainChart({3})), HasSubstr("<circle"));
  EXPECT_THAT(Drawn(PlainChart({3, 4})), Not(HasSubstr("<circle")));
  EXPECT_THAT(Drawn(PlainChart({3, NAN, 4, 5})), HasSubstr("<circle")) << "a point before a gap";
}

TEST(SvgChart, HasOnlyFiniteNumbers) {
  for (const Chart& chart :
       {PlainChart({}), PlainChart({NAN}), PlainChart({3}), PlainChart({3, 3, 3}),
        PlainChart({INFINITY, -INFINITY, NAN, 1}), PlainChart({0, -1}, true),
        PlainChart({1e300, -1e300}), PlainChart({1.7e308, -1.7e308, 1}),
        PlainChart({1e-308, 1.7e308, 1}, true), PlainChart({1e-300, 1e-299}),
        PlainChart({1e-300, 1e300}, true)}) {
    const std::string svg = Drawn(chart);
    EXPECT_FALSE(std::regex_search(svg, std::regex("[\" ML]-?(nan|inf)"))) << svg;
  }
}

TEST(SvgChart, EscapesTexts) {
  Chart chart = PlainChart({3, 4});
  chart.curves[0].label = "a<b>&\"c\x1b[2J";
  chart.title = "</text><script>";
  const std::string svg = Drawn(chart);
  EXPECT_THAT(svg, HasSubstr("a&lt;b&gt;&amp;&quot;c"));
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_THAT(svg, Not(HasSubstr("\x1b")));
}

TEST(SvgChart, ASinglePanelHasRoomForSixteenNames) {
  Chart chart{.title = "loss"};
  for (int i = 0; i < 16; ++i) {
    chart.curves.push_back(SampleCurve("run-" + std::to_string(i), i, 40, 3));
  }
  const std::string svg = Drawn(chart);
  const std::regex label("<text x=\"[0-9.]+\" y=\"([0-9.]+)\" fill=\"#171a21\">run-");
  std::vector<double> places;
  for (std::sregex_iterator it(svg.begin(), svg.end(), label), end; it != end; ++it) {
    places.push_back(std::stod((*it)[1]));
  }
  ASSERT_EQ(places.size(), 16u);
  std::sort(places.begin(), places.end());
  for (size_t i = 1; i < places.size(); ++i) EXPECT_GE(places[i] - places[i - 1], 15.8);
}

TEST(SvgTheme, HasTheColorsOfTheGatewaysPages) {
  const std::string source = std::getenv("GP_SOURCE");
  const auto read = [&](const char* name) {
    return ReadFile(source + "/client/gateway/pages/" + name).value();
  };
  const std::string runs = read("runs/style.css");
  for (size_t i = 0; i < kLightTheme.series.size(); ++i) {
    EXPECT_THAT(runs, HasSubstr("--series-" + std::to_string(i) + ": light-dark(" +
                                kLightTheme.series[i] + ", " + kDarkTheme.series[i] + ")"));
  }
  const std::string theme = read("shared/theme.css");
  const auto has = [&](const char* name, const char* light, const char* dark) {
    EXPECT_THAT(theme, HasSubstr(std::string("--") + name + ": light-dark(" + light + ", " + dark));
  };
  has("surface", kLightTheme.surface, kDarkTheme.surface);
  has("text", kLightTheme.text, kDarkTheme.text);
  has("muted", kLightTheme.muted, kDarkTheme.muted);
  has("line", kLightTheme.line, kDarkTheme.line);
}

}  // namespace
}  // namespace gp::gpctl
