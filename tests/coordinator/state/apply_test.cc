// Goal: a run that is placed or started again keeps its first start time and its device.
#include <gtest/gtest.h>

#include "coordinator/state/cluster.h"
#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

TEST(ApplyRuns, ARunThatStartsAgainKeepsItsFirstStart) {
  Cluster cluster;
  const auto apply = [&cluster](Event event, int64_t at) {
    event.at = At(at);
    const Status status = Apply(event, cluster);
    ASSERT_TRUE(status.ok()) << Kind(event) << ": " << status;
  };
  const std::vector<Event> life = OneOfEachKind();
  for (size_t i = 0; i < 3; ++i) apply(life[i], 1);
  apply({.run = RunId("r"), .body = RunStarted{1}}, 100);
  apply(life[3], 200);  // a rank fails
  apply(life[4], 300);  // placed again
  apply({.run = RunId("r"), .body = RunStarted{2}}, 400);
  EXPECT_EQ(cluster.FindRun(RunId("r"))->started_at, At(100));
}

TEST(ApplyRuns, ARunThatMayTakeAnyDeviceKeepsTheOneItWasPlacedOn) {
  Cluster cluster;
  Event submit = SampleSubmit("r", "1");
  std::get<RunSubmitted>(submit.body).submission.device = Device::kAuto;
  const std::vector<Event> life = OneOfEachKind();
  Event placed = life[2];
  std::get<RunPlaced>(placed.body).device = Device::kGpu;
  for (const Event& event : {submit, life[1], placed}) {
    const Status status = Apply(event, cluster);
    ASSERT_TRUE(status.ok()) << Kind(event) << ": " << status;
  }
  EXPECT_EQ(cluster.FindRun(RunId("r"))->leg.engine.device, Device::kGpu);
}

}  // namespace
}  // namespace gp::coordinator
