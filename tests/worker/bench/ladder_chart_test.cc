#include "worker/bench/ladder_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::engine {
namespace {

using testing::HasSubstr;

TEST(LadderChart, ShowsEveryRung) {
  const std::vector<RungResult> rungs = {
      {.name = "first", .step_ms = {10, 9, 11}, .tokens_per_second = 100},
      {.name = "slower",
       .step_ms = {11, 10, 12},
       .tokens_per_second = 90,
       .gain = 0.9,
       .kept = false},
      {.name = "a < b & c", .reason = "this machine has one core"}};
  const std::string svg = LadderChart(rungs, "GPT-2 tiny");
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(svg, HasSubstr(">first<"));
  EXPECT_THAT(svg, HasSubstr("not kept"));
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; c"));
  EXPECT_THAT(svg, HasSubstr("not measured: this machine has one core"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace gp::engine
