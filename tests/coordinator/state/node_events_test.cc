// Goal: the end of an old stream does not affect the node's newer one.
#include "coordinator/state/node_events.h"

#include <gtest/gtest.h>

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

class NodeEvents : public ::testing::Test {
 protected:
  void Do(const Event& event) {
    const Status status = Apply(event, cluster_);
    ASSERT_TRUE(status.ok()) << Kind(event) << ": " << status;
  }
  const Node& node() const { return *cluster_.nodes.at(NodeId("n")); }

  Cluster cluster_;
};

TEST_F(NodeEvents, TheEndOfAnOldStreamDoesNotDisconnectTheNode) {
  Do(Hello(1));
  Do(Hello(2));
  Do({.body = NodeDisconnected{NodeId("n"), 1}});
  EXPECT_TRUE(node().connected);
  Do({.body = NodeDisconnected{NodeId("n"), 2}});
  EXPECT_FALSE(node().connected);
}

TEST_F(NodeEvents, AReportOfAnOldStreamIsNotHeard) {
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

TEST_F(NodeEvents, AReportSaysWhichSlotsHaveAProblemAndWhichHaveNone) {
  Do(Hello(1));
  Do({.body = NodeReported{NodeId("n"), 1, 0, {}, {{SlotId("s1"), "lost"}}}});
  EXPECT_EQ(node().slots[0].problem, "");
  EXPECT_EQ(node().slots[1].problem, "lost");
  Do({.body = NodeReported{NodeId("n"), 1, 0, {}, {}}});
  EXPECT_EQ(node().slots[1].problem, "");
}

TEST_F(NodeEvents, AnAppliedRevisionNeverGoesBack) {
  Do(Hello(1));
  Do({.body = NodeReported{NodeId("n"), 1, 7, {}, {}}});
  Do({.body = NodeReported{NodeId("n"), 1, 6, {}, {}}});
  EXPECT_EQ(node().applied_revision, 7u);
}

// The slot of a failed run becomes free only after its agent has applied the withdrawal.
TEST_F(NodeEvents, AWithdrawnSlotIsFreeOnceTheAgentAppliedTheWithdrawal) {
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

}  // namespace
}  // namespace gp::coordinator
