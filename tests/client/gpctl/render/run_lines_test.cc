// Lines of a run that RunScreen's tests do not reach.
#include "client/gpctl/render/run_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/gpctl/screen/scene.h"

namespace gp::gpctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

RunModel SceneModel() {
  RunModel model;
  model.Apply(testing::SceneRun());
  return model;
}

TEST(RunBarLine, KeepsProgressAndTimeLeftWhereItIsNarrow) {
  const RunModel model = SceneModel();
  EXPECT_THAT(RunBarLine(model, testing::kSceneNow, 40, 40, true),
              AllOf(HasSubstr("38.6%"), HasSubstr("ETA 1h04m"), Not(HasSubstr("step"))));
  EXPECT_THAT(RunBarLine(model, testing::kSceneNow, 80, 80, true),
              AllOf(HasSubstr("step 7,362/19,073"), HasSubstr("3.86B tokens")));
}

TEST(RunHeading, ColoursTheState) {
  const ScreenLine line = RunHeading(testing::SceneRun(), testing::kSceneNow, 80, true);
  EXPECT_THAT(line.Text(true), HasSubstr("\x1b[32mRUNNING\x1b[0m"));
  EXPECT_THAT(line.Text(false), HasSubstr("4 ranks on node-a node-b"));
  EXPECT_LE(line.width(), 80);
}

TEST(RunReasonLine, IsThereUnlessTheRunTrains) {
  EXPECT_EQ(RunReasonLine(testing::SceneRun(), true), "");
  EXPECT_THAT(RunReasonLine(testing::OtherSceneRuns().front(), true), HasSubstr("needs 16 slots"));
}

}  // namespace
}  // namespace gp::gpctl
