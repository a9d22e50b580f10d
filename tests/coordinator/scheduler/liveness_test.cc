// Goal: a trainer counts as gone exactly when the coordinator knows that it is gone.
#include "coordinator/scheduler/liveness.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

using std::chrono::seconds;
using RunValue = Run;  // in a TEST, `Run` means testing::Test::Run

const NodeId kNode("n");
const Instant kStart = Instant(seconds(1000));

// One run of one rank, on slot s0 of node n.
class Liveness : public ::testing::Test {
 protected:
  Liveness() {
    Do({.body = Tick{kStart}});
    Hello(1, "first");
    Event submit = SampleSubmit("r", "1");
    std::get<RunSubmitted>(submit.body).submission.workers = 1;
    Do(submit);
    Do({.run = kSampleRun, .body = RunQueued{"it fits at once"}});
    Do({.run = kSampleRun,
        .body = RunPlaced{1, {{0, kNode, SlotId("s0")}}, "it fits", -1, 1, "", Device::kCpu}});
  }

  void Do(Event event) {
    event.at = At(1);
    const Status status = Apply(event, cluster_);
    ASSERT_TRUE(status.ok()) << status;
  }

  void Hello(uint64_t session, const std::string& incarnation) {
    NodeConnected hello;
    hello.node = kNode;
    hello.session = session;
    hello.incarnation = incarnation;
    hello.slots = {{SlotId("s0"), "cpu", {0}, 0}};
    Do({.body = hello});
  }

  // The agent has applied `revision` and reports the rank as running, or reports no rank at all.
  void Report(uint64_t session, uint64_t revision, bool runs) {
    NodeReported report{kNode, session, revision, {}, {}};
    if (runs) {
      RankReport rank{.run = kSampleRun, .epoch = 1, .rank = 0, .slot = SlotId("s0")};
      rank.phase = RankPhase::kRunning;
      report.ranks = {rank};
    }
    Do({.body = report});
  }

  RunValue run() const { return *cluster_.FindRun(kSampleRun); }
  bool gone() const { return IsGone(cluster_, run(), run().placement[0], Policy()); }

  Cluster cluster_;
};

TEST_F(Liveness, ATrainerThatIsNotThereIsGoneOnceItsAgentAppliedTheAssignment) {
  const uint64_t assigned = run().assigned_sequence;
  Report(1, assigned - 1, false);
  EXPECT_FALSE(gone()) << "the agent may be about to start it";
  Report(1, assigned, false);
  EXPECT_TRUE(gone());
}

TEST_F(Liveness, ANewAgentProcessHasAppliedNothingYet) {
  Report(1, run().assigned_sequence, true);
  EXPECT_FALSE(gone());
  Hello(2, "second");
  EXPECT_EQ(cluster_.FindNode(kNode)->applied_revision, 0u);
  EXPECT_FALSE(gone()) << "it may be about to start it";
  Hello(3, "second");
  Report(3, run().assigned_sequence, false);
  EXPECT_TRUE(gone());
}

TEST_F(Liveness, ANewStreamOfTheSameAgentProcessKeepsWhatItApplied) {
  Report(1, run().assigned_sequence, true);
  Hello(2, "first");
  EXPECT_EQ(cluster_.FindNode(kNode)->applied_revision, run().assigned_sequence);
}

TEST_F(Liveness, ANodeIsLostWhenItsLeaseHasPassedAndNotBefore) {
  const Policy policy;
  cluster_.now = kStart + policy.lease;
  EXPECT_FALSE(IsLost(cluster_, kNode, policy));
  cluster_.now += std::chrono::nanoseconds(1);
  EXPECT_TRUE(IsLost(cluster_, kNode, policy));
  EXPECT_TRUE(gone());
  cluster_.leases_from = kStart + seconds(1);
  EXPECT_FALSE(IsLost(cluster_, kNode, policy)) << "leases began anew";
}

// A published cluster does not update its time while nothing else changes, so its reader must use
// the current time.
TEST_F(Liveness, AReaderOfAnOldClusterSeesTheLeasePass) {
  const Policy policy;
  EXPECT_FALSE(IsLostAt(kStart + policy.lease, cluster_, kNode, policy));
  EXPECT_TRUE(IsLostAt(kStart + policy.lease + seconds(1), cluster_, kNode, policy));
  EXPECT_FALSE(IsLost(cluster_, kNode, policy));
}

TEST_F(Liveness, ANodeThatNeverSaidHelloHasOneLease) {
  const Policy policy;
  const NodeId unknown("unknown");
  cluster_.leases_from = kStart;
  cluster_.now = kStart + policy.lease;
  EXPECT_FALSE(IsLost(cluster_, unknown, policy));
  cluster_.now += std::chrono::nanoseconds(1);
  EXPECT_TRUE(IsLost(cluster_, unknown, policy));
}

}  // namespace
}  // namespace gp::coordinator
