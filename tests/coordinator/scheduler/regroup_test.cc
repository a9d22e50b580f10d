// Goal: a run goes on in place exactly when its other ranks can: the failure spares them, enough
// are left, and none was told to leave.
#include "coordinator/scheduler/regroup.h"

#include <gtest/gtest.h>

#include <vector>

namespace gp::coordinator {
namespace {

using std::chrono::seconds;

const RunId kRun("r");

// Run "r" with three ranks on node "n", running in epoch 5, of which at least two must be left.
class RegroupTest : public ::testing::Test {
 protected:
  RegroupTest() {
    cluster_.now = kStart;
    Node node;
    node.id = NodeId("n");
    node.name = "node-n";
    node.connected = true;
    node.last_heard = kStart;
    for (int rank = 0; rank < 3; ++rank) {
      RankReport report{.run = kRun, .epoch = 5, .rank = rank};
      report.incarnation = fmt::format("process-{}", rank);
      report.phase = RankPhase::kRunning;
      report.step = 40 + rank;
      node.ranks.push_back(std::move(report));
    }
    nodes_ = node;
    Submission submission;
    submission.workers = 3;
    submission.survivors_min = 2;
    run_.id = kRun;
    run_.submission = std::make_shared<const Submission>(submission);
    run_.state = RunState::kRunning;
    run_.epoch = 5;
    run_.holds_slots = true;
    run_.group = Group{.addresses = {"h:0", "h:1", "h:2"}};
    for (int rank = 0; rank < 3; ++rank) {
      run_.placement.push_back({rank, NodeId("n"), SlotId(std::to_string(rank))});
    }
  }

  std::optional<RunReconfigured> Plan(int lost, ExitCause cause = ExitCause::kSignal) {
    cluster_.nodes[nodes_.id] = std::make_shared<const Node>(nodes_);
    const auto action = PlanRegroup(cluster_, run_, lost, cause, "rank died", Policy());
    if (!action) return std::nullopt;
    return std::get<RunReconfigured>(action->event);
  }

  std::optional<int> Late() {
    nodes_.last_heard = cluster_.now;
    cluster_.nodes[nodes_.id] = std::make_shared<const Node>(nodes_);
    return FindLateMember(cluster_, run_, Policy());
  }

  static constexpr Instant kStart{seconds(100'000)};
  Cluster cluster_;
  Node nodes_;
  gp::coordinator::Run run_;
};

TEST_F(RegroupTest, TheOthersAreTheNextGroupInTheOrderOfTheirRanks) {
  const auto next = Plan(0);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->epoch, 6u);
  const std::vector<Placement> members = {{0, NodeId("n"), SlotId("1"), "process-1"},
                                          {1, NodeId("n"), SlotId("2"), "process-2"}};
  EXPECT_EQ(next->members, members);
  EXPECT_EQ(next->addresses, (std::vector<std::string>{"h:1", "h:2"}));
  EXPECT_EQ(next->reason, "rank died; the run goes on with 2 of 3 ranks since step 42");
}

TEST_F(RegroupTest, ARankThatDiedMeanwhileIsLeftOutToo) {
  nodes_.ranks[2].phase = RankPhase::kExited;
  EXPECT_FALSE(Plan(0).has_value()) << "one rank is too few";
  run_.submission = [&] {
    Submission submission = *run_.submission;
    submission.survivors_min = 1;
    return std::make_shared<const Submission>(submission);
  }();
  ASSERT_TRUE(Plan(0).has_value());
  EXPECT_EQ(Plan(0)->members.size(), 1u);
}

TEST_F(RegroupTest, RestartsAfterAFailureThatMayConcernTheOthers) {
  for (const ExitCause cause : {ExitCause::kConfig, ExitCause::kData, ExitCause::kStorage,
                                ExitCause::kError, ExitCause::kUnfit, ExitCause::kStopped}) {
    EXPECT_FALSE(Plan(1, cause).has_value()) << static_cast<int>(cause);
  }
  for (const ExitCause cause : {ExitCause::kUnspecified, ExitCause::kSignal, ExitCause::kStalled,
                                ExitCause::kOutOfMemory, ExitCause::kCollective}) {
    EXPECT_TRUE(Plan(1, cause).has_value()) << static_cast<int>(cause);
  }
}

TEST_F(RegroupTest, RestartsARunThatIsToldToLeaveOrHasFinished) {
  run_.drained_because = "node a is drained";
  EXPECT_FALSE(Plan(1).has_value());
  run_.drained_because.clear();
  run_.pausing = true;
  EXPECT_FALSE(Plan(1).has_value());
  run_.pausing = false;
  run_.state = RunState::kStarting;
  EXPECT_FALSE(Plan(1).has_value());
  run_.state = RunState::kRunning;
  nodes_.ranks[2].phase = RankPhase::kFinished;
  EXPECT_FALSE(Plan(1).has_value());
}

TEST_F(RegroupTest, RestartsOnGpusAndWhereTheRunFileDoesNotAskForMore) {
  run_.leg.engine.device = Device::kGpu;
  EXPECT_FALSE(Plan(1).has_value());
  run_.leg.engine.device = Device::kCpu;
  EXPECT_TRUE(Plan(1).has_value());
  run_.submission = std::make_shared<const Submission>();
  EXPECT_FALSE(Plan(1).has_value());
}

// Node "m" has rank 0, and its agent has no connection.
TEST_F(RegroupTest, RanksWhoseAgentIsGoneAreLeftOutWhenTheOthersHaveLostThem) {
  Node gone = nodes_;
  gone.id = NodeId("m");
  gone.connected = false;
  gone.ranks.erase(gone.ranks.begin() + 1, gone.ranks.end());
  nodes_.ranks.erase(nodes_.ranks.begin());
  cluster_.nodes[gone.id] = std::make_shared<const Node>(gone);
  run_.placement[0].node = gone.id;
  const auto is_cut_off = [&](int rank) {
    cluster_.nodes[nodes_.id] = std::make_shared<const Node>(nodes_);
    return IsCutOff(cluster_, run_, run_.placement[static_cast<size_t>(rank)], Policy());
  };
  EXPECT_FALSE(is_cut_off(0)) << "its peers may still reach it";
  nodes_.ranks[1].holds = true;
  nodes_.ranks[1].held_since = kStart;
  EXPECT_FALSE(is_cut_off(0)) << "its agent may connect again";
  cluster_.now = nodes_.last_heard = kStart + seconds(2);
  EXPECT_TRUE(is_cut_off(0));
  EXPECT_FALSE(is_cut_off(1));
  ASSERT_TRUE(Plan(0).has_value());
  EXPECT_EQ(Plan(0)->members.front().incarnation, "process-1");
  cluster_.now = kStart + seconds(6);
  EXPECT_FALSE(Late().has_value()) << "the lease of a node decides";
}

TEST_F(RegroupTest, AMemberIsLateFiveSecondsAfterTheDecision) {
  run_.placed_epoch = 5;
  run_.regrouped_at = kStart;
  run_.placement[1].incarnation = "process-1";
  run_.epoch = 6;
  for (RankReport& report : nodes_.ranks) report.epoch = 6;
  nodes_.ranks[1].epoch = 5;
  cluster_.now = kStart + seconds(5);
  EXPECT_FALSE(Late().has_value());
  cluster_.now += seconds(1);
  EXPECT_EQ(Late(), 1);
  nodes_.ranks[1].epoch = 6;
  EXPECT_FALSE(Late().has_value());
}

TEST_F(RegroupTest, NobodyIsLateWhileARankOfTheGroupWorks) {
  run_.epoch = 6;
  run_.placed_epoch = 5;
  run_.regrouped_at = kStart;
  for (int rank = 0; rank < 3; ++rank) {
    run_.placement[static_cast<size_t>(rank)].incarnation = fmt::format("process-{}", rank);
  }
  cluster_.now = kStart + seconds(6);
  EXPECT_EQ(Late(), 0);
  RankProgress& progress = nodes_.ranks[1].progress.emplace();
  progress.still = seconds(7);
  EXPECT_FALSE(Late().has_value()) << "it computes a long step";
  progress.awaits_peer = true;
  EXPECT_EQ(Late(), 0);
  progress.still = seconds(1);
  EXPECT_FALSE(Late().has_value()) << "it gets the state of the training from a peer";
  progress.awaits_peer = false;
  progress.awaits_agent = true;
  EXPECT_EQ(Late(), 0);
}

TEST_F(RegroupTest, TheEndOfARankThatHasNotJoinedYetDoesNotConcernTheOthers) {
  run_.placement[2].joins = true;
  nodes_.ranks[2].phase = RankPhase::kExited;
  nodes_.ranks[2].step = 0;
  ASSERT_TRUE(Plan(2, ExitCause::kConfig).has_value());
  EXPECT_EQ(Plan(2, ExitCause::kConfig)->failed_joins, 1);
  nodes_.ranks[2].step = 42;
  EXPECT_FALSE(Plan(2, ExitCause::kConfig).has_value()) << "it had joined";
  EXPECT_EQ(Plan(2)->failed_joins, 0);
}

TEST_F(RegroupTest, AMemberJoinsUntilItIsReady) {
  run_.placement[1].joins = run_.placement[2].joins = true;
  nodes_.ranks[1].phase = RankPhase::kListening;
  nodes_.ranks[1].step = 0;
  ASSERT_TRUE(Plan(0).has_value());
  EXPECT_TRUE(Plan(0)->members[0].joins);
  EXPECT_FALSE(Plan(0)->members[1].joins);
}

TEST_F(RegroupTest, ARankThatHoldsForFiveSecondsIsLate) {
  nodes_.ranks[2].holds = true;
  nodes_.ranks[2].held_since = kStart;
  cluster_.now = kStart + seconds(5);
  EXPECT_FALSE(Late().has_value());
  cluster_.now += seconds(1);
  EXPECT_EQ(Late(), 2);
}

}  // namespace
}  // namespace gp::coordinator
