#include "client/gpctl/screen/run_panes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/gpctl/screen/scene.h"

namespace gp::gpctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<std::string> Texts(const std::vector<ScreenLine>& lines) {
  std::vector<std::string> texts;
  for (const ScreenLine& line : lines) texts.push_back(line.Text(false));
  return texts;
}

TEST(PhasePane, SharesTheWidthAmongThePhases) {
  v1::Progress progress;
  progress.mutable_phases()->set_forward(1);
  progress.mutable_phases()->set_backward(2);
  progress.mutable_phases()->set_data_wait(1);
  EXPECT_THAT(Texts(PhasePane(progress, 2, {.width = 40, .utf8 = false})),
              ElementsAre("ffffffffffbbbbbbbbbbbbbbbbbbbbdddddddddd",
                          "forward 25%  backward 50%  data 25%"));
  EXPECT_THAT(PhasePane(progress, 1, {.width = 40}), SizeIs(1));
  EXPECT_THAT(PhasePane(v1::Progress(), 2, {.width = 40}), SizeIs(0)) << "no step was taken";
}

TEST(NodePane, GroupsRanksByNode) {
  v1::Run run = testing::SceneRun();
  EXPECT_EQ(NodePaneRows(run), 3);
  EXPECT_THAT(Texts(NodePane(run, 3, {.width = 40})),
              ElementsAre("use 7.6 cores, 5.0 GiB", "node-a  ranks 0-1", "node-b  ranks 2-3"));
  EXPECT_THAT(Texts(NodePane(run, 1, {.width = 40})),
              ElementsAre("2 nodes: node-a 0-1, node-b 2-3"));
  for (int rank = 4; rank < 9; ++rank) {
    v1::RankPlacement& placement = *run.add_placement();
    placement.set_rank(rank);
    placement.set_node_name(fmt::format("node-{}", rank));
  }
  run.clear_use();
  EXPECT_THAT(Texts(NodePane(run, 3, {.width = 40})),
              ElementsAre("node-4  rank 4", "node-5  rank 5", "and 5 more nodes"));
}

TEST(SamplePane, BreaksLinesWhereThereIsRoom) {
  RunModel model;
  EXPECT_THAT(SamplePane(model, 5, {.width = 40}), SizeIs(0));
  model.Apply(Sample{.step = 1500, .text = "one\ntwo\tthree\x1b[31m"});
  EXPECT_THAT(Texts(SamplePane(model, 1, {.width = 60})),
              ElementsAre("@1,500  one⏎two three·[31m"));
  EXPECT_THAT(Texts(SamplePane(model, 5, {.width = 60})),
              ElementsAre("at step 1,500", "one", "two three·[31m"));
}

TEST(EventPane, ShowsTheNewestAndWrapsThemWhereThereIsRoom) {
  RunModel model;
  for (const v1::RunEvent& event : testing::SceneEvents()) model.Apply(event);
  const auto two = Texts(EventPane(model, 2, {.width = 50}));
  ASSERT_THAT(two, SizeIs(2));
  EXPECT_THAT(two[1], HasSubstr("2 checkpoints sealed"));
  const auto many = Texts(EventPane(model, 20, {.width = 50}));
  ASSERT_GT(many.size(), 6u);
  EXPECT_THAT(many[0], HasSubstr("submitted by owner"));
  EXPECT_EQ(many[4].substr(0, 10), std::string(10, ' ')) << "the rest of a long reason";
}

TEST(LogPane, ShowsTheEndOfTheLog) {
  RunModel model;
  EXPECT_THAT(Texts(LogPane(model, 5, {.width = 50})), ElementsAre("No line was logged yet."));
  for (const v1::LogLine& line : testing::SceneLines()) model.Apply(line);
  const auto lines = Texts(LogPane(model, 4, {.width = 500}));
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines[3], HasSubstr("sample step=7250"));
}

}  // namespace
}  // namespace gp::gpctl
