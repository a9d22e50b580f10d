// Goal: an assignment contains only information that is still valid.
#include "coordinator/state/assignment.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

const NodeId kOnlyNode("n");

// A run of two ranks that all-reduce on GPUs; its group is ready, and rank 0 offered an NCCL id.
class AssignmentsTest : public ::testing::Test {
 protected:
  AssignmentsTest() {
    NodeConnected hello;
    hello.node = kOnlyNode;
    hello.session = 1;
    hello.slots = {{SlotId("s0"), "gpu", {0}, 0}, {SlotId("s1"), "gpu", {1}, 0}};
    Do({.body = hello});
    const std::vector<Event> life = OneOfEachKind();
    for (size_t i = 0; i < 3; ++i) Do(life[i]);  // submitted, queued, placed
    Do({.run = kSampleRun, .body = RunGroupReady{.epoch = 1, .addresses = {"h:1", "h:2"}}});
  }

  void Do(Event event) {
    event.at = At(1);
    const Status status = Apply(event, cluster_);
    ASSERT_TRUE(status.ok()) << Kind(event) << ": " << status;
  }

  void ReportLeader(RankPhase phase, ExitCause cause) {
    RankReport leader{.run = kSampleRun, .epoch = 1, .rank = 0, .slot = SlotId("s0")};
    leader.phase = phase;
    leader.cause = cause;
    leader.nccl_id = "00ff";
    Do({.body = NodeReported{kOnlyNode, 1, 1, {leader}, {}}});
  }

  std::string NcclIdOfRank1() const { return AssignmentsOf(cluster_, kOnlyNode).at(1).nccl_id; }

  Cluster cluster_;
};

TEST_F(AssignmentsTest, TheNcclIdOfAProcessThatEndedIsNotTold) {
  ReportLeader(RankPhase::kListening, ExitCause());
  EXPECT_EQ(NcclIdOfRank1(), "00ff");
  ReportLeader(RankPhase::kExited, ExitCause::kSignal);
  EXPECT_EQ(NcclIdOfRank1(), "");
}

}  // namespace
}  // namespace gp::coordinator
