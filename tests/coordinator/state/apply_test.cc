// Goal: what an old stream of an agent says about its end changes nothing.
#include <gtest/gtest.h>

#include "coordinator/state/cluster.h"
#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

Event Hello(uint64_t session) {
  NodeConnected hello;
  hello.node = NodeId("n");
  hello.session = session;
  hello.slots = {{SlotId("s0"), "cpu", {0}, 0}, {SlotId("s1"), "cpu", {1}, 0}};
  return {.at = At(1), .body = hello};
}

class ApplyNodes : public ::testing::Test {
 protected:
  void Do(const Event& event) {
    const Status status = Apply(event, cluster_);
    ASSERT_TRUE(status.ok()) << Kind(event) << ": " << status;
  }
  const Node& node() const { return *cluster_.nodes.at(NodeId("n")); }

  Cluster cluster_;
};

TEST_F(ApplyNodes, TheEndOfAnOldStreamDoesNotDisconnectTheNode) {
  Do(Hello(1));
  Do(Hello(2));
  Do({.body = NodeDisconnected{NodeId("n"), 1}});
  EXPECT_TRUE(node().connected);
  Do({.body = NodeDisconnected{NodeId("n"), 2}});
  EXPECT_FALSE(node().connected);
}

TEST_F(ApplyNodes, AReportOfAnOldStreamIsNotHeard) {
  Do(Hello(1));
  Do(Hello(2));
  cluster_.now += std::chrono::seconds(5);
  const Instant heard = node().last_heard;
  Do({.body = NodeReported{NodeId("n"), 1, 7, {RankReport{}}, {{SlotId("s0"), "lost"}}}});
  EXPECT_EQ(node().applied_revision, 0u);
  EXPECT_TRUE(node().ranks.empty());
  EXPECT_EQ(node().slots[0].problem, "");
  EXPECT_EQ(node().last_heard, heard);
}

TEST_F(ApplyNodes, AReportSaysWhichSlotsHaveAProblemAndWhichHaveNone) {
  Do(Hello(1));
  Do({.body = NodeReported{NodeId("n"), 1, 0, {}, {{SlotId("s1"), "lost"}}}});
  EXPECT_EQ(node().slots[0].problem, "");
  EXPECT_EQ(node().slots[1].problem, "lost");
  Do({.body = NodeReported{NodeId("n"), 1, 0, {}, {}}});
  EXPECT_EQ(node().slots[1].problem, "");
}

TEST_F(ApplyNodes, AnAppliedRevisionNeverGoesBack) {
  Do(Hello(1));
  Do({.body = NodeReported{NodeId("n"), 1, 7, {}, {}}});
  Do({.body = NodeReported{NodeId("n"), 1, 6, {}, {}}});
  EXPECT_EQ(node().applied_revision, 7u);
}

// The slot of a run that failed is not free before the agent has heard of it.
TEST_F(ApplyNodes, AWithdrawnSlotIsFreeOnceTheAgentAppliedTheWithdrawal) {
  Do(Hello(1));
  const std::vector<Event> life = OneOfEachKind();
  for (size_t i = 0; i < 4; ++i) Do(life[i]);  // submitted, queued, placed, failed
  const uint64_t failed = cluster_.last_sequence;
  EXPECT_EQ(node().withdrawn.size(), 2u);
  EXPECT_EQ(node().desired_revision, failed);
  Do({.body = NodeReported{NodeId("n"), 1, failed - 1, {}, {}}});
  EXPECT_EQ(node().withdrawn.size(), 2u);
  Do({.body = NodeReported{NodeId("n"), 1, failed, {}, {}}});
  EXPECT_TRUE(node().withdrawn.empty());
}

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
  EXPECT_EQ(cluster.FindRun(RunId("r"))->device, Device::kGpu);
}

}  // namespace
}  // namespace gp::coordinator
