// Goal: a drained node counts as empty at the right time, and a cordon survives a restart.
#include "coordinator/state/cordon.h"

#include <gtest/gtest.h>

#include "coordinator/state/admission.h"
#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

class CordonTest : public ::testing::Test {
 protected:
  void Do(const Event& event) {
    const Status status = Apply(event, cluster_);
    ASSERT_TRUE(status.ok()) << Kind(event) << ": " << status;
  }
  void Hello(const std::string& id, const std::string& name) {
    NodeConnected hello;
    hello.node = NodeId(id);
    hello.name = name;
    hello.session = ++session_;
    hello.incarnation = std::to_string(session_);
    Do({.body = hello});
  }
  void Cordon(const std::string& id, bool drain, const std::string& reason) {
    Do({.at = At(5),
        .actor = "owner",
        .body = NodeCordoned{NodeId(id), "name-of-" + id, drain, reason}});
  }
  const Node& node(const std::string& id) { return *cluster_.FindNode(NodeId(id)); }

  Cluster cluster_;
  uint64_t session_ = 0;
};

TEST_F(CordonTest, OutlivesTheAgentThatSaysHelloAgain) {
  Hello("n1", "a");
  Cordon("n1", true, "new kernel");
  Do({.body = NodeDisconnected{NodeId("n1"), session_}});
  Hello("n1", "a");
  ASSERT_TRUE(node("n1").cordon.has_value());
  EXPECT_EQ(CordonText(node("n1")), "node a is drained (new kernel)");
  EXPECT_EQ(node("n1").cordon->actor, "owner");
  EXPECT_EQ(node("n1").cordon->since, At(5));
  Do({.body = NodeUncordoned{NodeId("n1")}});
  EXPECT_FALSE(node("n1").cordon.has_value());
}

TEST_F(CordonTest, IsKnownByTheNodesNameBeforeItsAgentIsBack) {
  Cordon("n1", false, "");
  EXPECT_EQ(CordonText(node("n1")), "node name-of-n1 is cordoned");
}

TEST_F(CordonTest, ARepeatedRequestIsAnsweredAndADrainIsNotWeakened) {
  Hello("n1", "a");
  const auto admit = [&](bool drain, const std::string& reason) {
    return *Admit(cluster_, {.body = NodeCordoned{NodeId("n1"), "a", drain, reason}});
  };
  EXPECT_TRUE(admit(true, "x").append);
  Cordon("n1", true, "x");
  EXPECT_TRUE(admit(true, "x").replayed);
  EXPECT_TRUE(admit(false, "y").replayed);
  EXPECT_TRUE(admit(true, "y").append) << "the reason is replaced";
  const Event uncordon{.body = NodeUncordoned{NodeId("n1")}};
  EXPECT_TRUE(Admit(cluster_, uncordon)->append);
  Do(uncordon);
  EXPECT_TRUE(Admit(cluster_, uncordon)->replayed);
}

// A run of two ranks on node "n". Its slots count as empty once the agent has applied the
// withdrawal.
TEST_F(CordonTest, ASlotIsBusyUntilTheAgentHasEmptiedIt) {
  Hello("n", "a");
  const std::vector<Event> life = OneOfEachKind();
  for (size_t i = 0; i < 3; ++i) Do(life[i]);  // submitted, queued, placed
  EXPECT_EQ(BusySlots(cluster_, node("n")), 2);
  Do({.run = kSampleRun, .body = RunRequeued{1, "drained"}});
  EXPECT_EQ(BusySlots(cluster_, node("n")), 2) << "the agent does not know yet";
  NodeReported report{NodeId("n"), session_, cluster_.last_sequence, {}, {}};
  report.ranks.push_back({.run = kSampleRun, .epoch = 1, .rank = 0, .slot = SlotId("s0")});
  report.ranks.back().phase = RankPhase::kRunning;
  Do({.body = report});
  EXPECT_EQ(BusySlots(cluster_, node("n")), 1) << "a trainer is still there";
  report.ranks.clear();
  Do({.body = report});
  EXPECT_EQ(BusySlots(cluster_, node("n")), 0);
}

}  // namespace
}  // namespace gp::coordinator
