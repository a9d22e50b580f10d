#include "client/gpctl/screen/run_dashboard.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/gpctl/golden.h"
#include "client/gpctl/screen/scene.h"

namespace gp::gpctl {
namespace {

using ::testing::AllOf;
using testing::ExpectGolden;
using ::testing::HasSubstr;
using testing::kSceneNow;
using ::testing::Not;

RunModel SceneModel() {
  RunModel model;
  model.Apply(testing::SceneRun());
  for (const v1::MetricPoint& point : testing::ScenePoints()) model.Apply(point);
  for (const v1::RunEvent& event : testing::SceneEvents()) model.Apply(event);
  for (const v1::LogLine& line : testing::SceneLines()) model.Apply(line);
  return model;
}

std::string Shown(const RunModel& model, const TextStyle& style, const DashboardView& view = {}) {
  std::string text;
  for (const ScreenLine& line : RunDashboard(model, view, kSceneNow, style)) {
    text += line.Text(style.color) + "\n";
  }
  return text;
}

TEST(RunDashboard, FillsEverySizeExactly) {
  const RunModel model = SceneModel();
  for (const bool utf8 : {true, false}) {
    for (int width = 1; width < 260; width += width < 60 ? 3 : 23) {
      for (int height = 1; height < 80; height += height < 30 ? 1 : 11) {
        for (const DashboardPage page :
             {DashboardPage::kMain, DashboardPage::kLog, DashboardPage::kHelp}) {
          const auto lines =
              RunDashboard(model, {.page = page}, kSceneNow, {width, utf8, true, height});
          ASSERT_EQ(std::ssize(lines), height) << width;
          for (const ScreenLine& line : lines) {
            ASSERT_LE(line.width(), width) << height << ": " << line.Text(false);
          }
        }
      }
    }
  }
}

TEST(RunDashboard, ShowsStateProgressLossAndSpeedFirst) {
  EXPECT_THAT(Shown(SceneModel(), {40, true, false, 6}),
              AllOf(HasSubstr("gpt2-fineweb  RUNNING"), HasSubstr("38.6%"), HasSubstr("loss 3."),
                    HasSubstr("tok/s"), HasSubstr("q leave"), Not(HasSubstr("lr "))));
}

TEST(RunDashboard, ShowsMoreOnALargerScreen) {
  const std::string small = Shown(SceneModel(), {80, true, false, 24});
  EXPECT_THAT(small, AllOf(HasSubstr("loss (nats per token)"), HasSubstr("phases"),
                           HasSubstr("@7,250  The city council"), HasSubstr("node-a 0-1"),
                           HasSubstr("2 checkpoints sealed"), Not(HasSubstr("learning rate"))));
  const std::string large = Shown(SceneModel(), {160, true, false, 50});
  EXPECT_THAT(large, AllOf(HasSubstr("tokens per second"), HasSubstr("gradient norm"),
                           HasSubstr("learning rate"), HasSubstr("newest sample"),
                           HasSubstr("An old man who sells fish"), HasSubstr("submitted by owner"),
                           HasSubstr("use 7.6 cores, 5.0 GiB")));
}

TEST(RunDashboard, HasNoUseThatIsNotKnown) {
  RunModel model = SceneModel();
  v1::Run run = model.run();
  run.clear_use();
  model.Apply(run);
  EXPECT_THAT(Shown(model, {160, true, false, 50}), Not(HasSubstr("cores")));
}

TEST(RunDashboard, ShowsWhyARunWaits) {
  RunModel model;
  v1::Run run = testing::OtherSceneRuns().front();
  model.Apply(run);
  EXPECT_THAT(Shown(model, {80, true, false, 24}),
              AllOf(HasSubstr("gpt2-350m  QUEUED"),
                    HasSubstr("placement: needs 16 slots, 1 free of 6"), HasSubstr("p pause")));
}

TEST(RunDashboard, ShowsWarningsAndNoticesWholeWhereThereIsRoom) {
  RunModel model = SceneModel();
  v1::Run run = model.run();
  run.mutable_progress()->set_warning(
      "the first loss 9.1 is far from ln(50257) = 10.8, so that the tokenizer may not be that of "
      "the data");
  model.Apply(run);
  model.SetNotice("the coordinator cannot be reached");
  EXPECT_THAT(Shown(model, {80, true, false, 24}),
              AllOf(HasSubstr("! the first loss 9.1"), HasSubstr("\n  be that of the data\n"),
                    HasSubstr("! the coordinator cannot be reached")));
  EXPECT_THAT(Shown(model, {40, true, false, 10}), HasSubstr("! the first loss 9.1"));
}

TEST(RunDashboard, OffersToResumeAPausedRun) {
  RunModel model = SceneModel();
  v1::Run run = model.run();
  run.set_state(v1::RUN_STATE_PAUSED);
  model.Apply(run);
  EXPECT_THAT(Shown(model, {80, true, false, 24}), HasSubstr("p resume"));
}

TEST(RunDashboard, ShowsAMessageInsteadOfTheKeys) {
  EXPECT_THAT(Shown(SceneModel(), {40, true, false, 10}, {.message = "Pause it? y/N"}),
              AllOf(HasSubstr("Pause it? y/N"), Not(HasSubstr("q leave"))));
}

TEST(RunDashboard, ShowsTheEndOfTheLog) {
  EXPECT_THAT(Shown(SceneModel(), {100, true, false, 10}, {.page = DashboardPage::kLog}),
              AllOf(HasSubstr("rank 0 2025-11-21T09:41:30.001Z info gp-trainer sample"),
                    HasSubstr("l back"), Not(HasSubstr("step=250 "))));
}

TEST(RunDashboard, AsciiHasNoOtherBytes) {
  for (const char c : Shown(SceneModel(), {120, false, false, 40})) {
    EXPECT_LT(static_cast<unsigned char>(c), 0x80);
  }
}

}  // namespace
}  // namespace gp::gpctl
