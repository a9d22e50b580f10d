#include "client/gpctl/screen/fleet_dashboard.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "client/gpctl/screen/scene.h"

namespace gp::gpctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kSceneNow;
using ::testing::Not;

FleetModel SceneFleet() {
  v1::NodesResponse nodes;
  for (const v1::Node& node : testing::SceneNodes()) *nodes.add_nodes() = node;
  v1::ListResponse runs;
  *runs.add_runs() = testing::SceneRun();
  for (const v1::Run& run : testing::OtherSceneRuns()) *runs.add_runs() = run;
  FleetModel model;
  model.Apply(nodes);
  model.Apply(runs, 0);
  return model;
}

std::string Shown(const FleetModel& model, const TextStyle& style, const FleetView& view = {}) {
  std::string text;
  for (const ScreenLine& line : FleetDashboard(model, view, kSceneNow, style)) {
    text += line.Text(style.color) + "\n";
  }
  return text;
}

TEST(FleetDashboard, FillsEverySizeExactly) {
  const FleetModel model = SceneFleet();
  for (int width = 1; width < 260; width += width < 60 ? 3 : 23) {
    for (int height = 1; height < 80; height += height < 30 ? 1 : 11) {
      for (const FleetPage page : {FleetPage::kAll, FleetPage::kRuns, FleetPage::kQueue,
                                   FleetPage::kNodes, FleetPage::kHelp}) {
        const auto lines =
            FleetDashboard(model, {.page = page}, kSceneNow, {width, true, true, height});
        ASSERT_EQ(std::ssize(lines), height) << width;
        for (const ScreenLine& line : lines) {
          ASSERT_LE(line.width(), width) << height << ": " << line.Text(false);
        }
      }
    }
  }
}

TEST(FleetDashboard, ShowsRunsWhyOthersWaitAndNodes) {
  EXPECT_THAT(Shown(SceneFleet(), {120, true, false, 40}),
              AllOf(HasSubstr("2 running   2 waiting   1 paused   5/7 slots busy"),
                    HasSubstr("gpt2-fineweb"), HasSubstr("7,362/19,073"), HasSubstr("55.6%"),
                    HasSubstr("1h04m"), HasSubstr("placement: needs 16 slots, 1 free of 6"),
                    HasSubstr("3.8 of 4"), HasSubstr("6.0 of 16.0 GiB"), HasSubstr("120.0 GiB"),
                    HasSubstr("cordoned"), Not(HasSubstr(" more"))));
}

TEST(FleetDashboard, ShowsNumbersOfEverySectionOnASmallScreen) {
  EXPECT_THAT(Shown(SceneFleet(), {40, true, false, 10}),
              AllOf(HasSubstr("2 running"), HasSubstr("gpt2-fineweb"), HasSubstr("NODE +"),
                    HasSubstr("QUEUE"), HasSubstr("NODE"), HasSubstr("q leave")));
}

TEST(FleetDashboard, ScrollsASectionOnTheWholeScreen) {
  FleetModel model = SceneFleet();
  v1::ListResponse runs;
  for (int i = 0; i < 40; ++i) {
    *runs.add_runs() = testing::MakeRun(fmt::format("run-{:02}", i), fmt::format("id{}", i),
                                        v1::RUN_STATE_RUNNING);
  }
  model.Apply(runs, 12);
  const TextStyle style{80, true, false, 12};
  const FleetView from_the_start{.page = FleetPage::kRuns};
  EXPECT_THAT(Shown(model, style, from_the_start),
              AllOf(HasSubstr("run-00"), HasSubstr("run-07"), HasSubstr("… 32 more")));
  EXPECT_THAT(Shown(model, {80, false, false, 12}, from_the_start), HasSubstr("... 32 more"));
  EXPECT_THAT(Shown(model, style, {.page = FleetPage::kRuns, .first = 8}),
              AllOf(HasSubstr("run-08"), HasSubstr("run-15"), HasSubstr("… 24 more")));
  EXPECT_THAT(Shown(model, {80, true, false, 60}), HasSubstr("12 more runs are not shown"));
}

FleetModel ModelOf(int runs) {
  v1::ListResponse response;
  for (int i = 0; i < runs; ++i) {
    *response.add_runs() = testing::MakeRun(fmt::format("run-{:04}", i), fmt::format("id{}", i),
                                            v1::RUN_STATE_RUNNING);
  }
  FleetModel model;
  model.Apply(response, 0);
  return model;
}

// The end of a page has the last row at the bottom and fills the screen, at every size, and pages
// lead there without leaving out a row.
TEST(FleetDashboard, ScrollsAtMostToTheLastRow) {
  for (const int runs : {1, 7, 8, 9, 10, 1000}) {
    const FleetModel model = ModelOf(runs);
    for (const int height : {5, 10, 12, 24, 70}) {
      const TextStyle style{80, true, false, height};
      const FleetScroll scroll = ScrollOf(model, FleetPage::kRuns, style);
      const int shown = height - 3;  // without the heading, the titles and the footer
      EXPECT_EQ(scroll.last, std::max(runs - shown, 0)) << runs << " " << height;
      const std::string end = Shown(model, style, {FleetPage::kRuns, scroll.last});
      EXPECT_THAT(end,
                  AllOf(HasSubstr(fmt::format("run-{:04}", runs - 1)),
                        HasSubstr(fmt::format("run-{:04}", scroll.last)), Not(HasSubstr(" more"))));
      EXPECT_EQ(Shown(model, style, {FleetPage::kRuns, 5000}), end) << "no further";
      EXPECT_THAT(Shown(model, style, {FleetPage::kRuns, scroll.page}),
                  HasSubstr(fmt::format("run-{:04}", std::min(scroll.page, scroll.last))));
      EXPECT_LE(scroll.page, shown);
    }
  }
}

TEST(FleetDashboard, ScrollsOnlyPagesOfOneSection) {
  const FleetModel model = ModelOf(1000);
  for (const FleetPage page : {FleetPage::kAll, FleetPage::kHelp}) {
    EXPECT_EQ(ScrollOf(model, page, {80, true, false, 24}).last, 0);
  }
  EXPECT_EQ(ScrollOf(FleetModel(), FleetPage::kRuns, {80, true, false, 24}).last, 0);
}

TEST(FleetDashboard, SaysSoWhenThereIsNothing) {
  FleetModel model;
  EXPECT_THAT(Shown(model, {80, true, false, 24}), HasSubstr("asking the coordinator"));
  model.Apply(v1::ListResponse(), 0);
  EXPECT_THAT(Shown(model, {80, true, false, 24}), HasSubstr("No run is running or waiting."));
}

TEST(FleetText, HasNoEscapesAndAllRows) {
  const std::string text = FleetText(SceneFleet(), kSceneNow, {0, true, false});
  EXPECT_THAT(text, AllOf(HasSubstr("a-name-that-is-much-longer-than-any-column-should-be"),
                          HasSubstr("node-d"), Not(HasSubstr("\x1b"))));
}

}  // namespace
}  // namespace gp::gpctl
