#include "client/gpctl/screen/fleet_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/gpctl/screen/scene.h"

namespace gp::gpctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FleetNodesTable, ShowsWhatIsNotReportedAsUnknown) {
  v1::NodesResponse nodes;
  *nodes.add_nodes() = testing::SceneNodes().back();
  FleetModel model;
  model.Apply(nodes);
  EXPECT_THAT(FleetNodesTable(model, {100, true, false}),
              AllOf(HasSubstr("node-d  cordoned  0/1 cpu  -      -       -          new disk"),
                    Not(HasSubstr("0.0"))));
}

TEST(FleetNodesTable, NamesTheRunsOnANode) {
  v1::NodesResponse nodes;
  *nodes.add_nodes() = testing::SceneNodes().front();
  v1::ListResponse runs;
  *runs.add_runs() = testing::SceneRun();
  FleetModel model;
  model.Apply(nodes);
  model.Apply(runs, 0);
  EXPECT_THAT(FleetNodesTable(model, {120, true, false}), HasSubstr("2/2 cpu  3.8 of 4"));
  EXPECT_THAT(FleetNodesTable(model, {120, true, false}), HasSubstr("gpt2-fineweb\n"));
  EXPECT_THAT(FleetNodesTable(model, {200, true, false}), HasSubstr("[█████████▌] 3.8 of 4"))
      << "bars on a wide terminal";
}

TEST(StartedRunsTable, DrawsTheLossesAndMarksWarnings) {
  v1::ListResponse runs;
  for (const v1::Run& run : testing::OtherSceneRuns()) *runs.add_runs() = run;
  FleetModel model;
  model.Apply(runs, 0);
  ThinnedCurve losses;
  for (int64_t step = 400; step < 500; ++step) losses.Add(step, 5.0 - 0.01 * step);
  model.Apply("7f3k2q9a0d", losses);
  const std::string text = StartedRunsTable(model, {160, true, false});
  EXPECT_THAT(text, AllOf(HasSubstr("▇"), HasSubstr("! the loss has risen"), HasSubstr("paused"),
                          Not(HasSubstr("gpt2-350m"))));
  EXPECT_THAT(WaitingRunsTable(model, testing::kSceneNow, {160, true, false}),
              AllOf(HasSubstr("gpt2-350m"), HasSubstr("1d02h"), Not(HasSubstr("lr-sweep"))));
}

}  // namespace
}  // namespace gp::gpctl
