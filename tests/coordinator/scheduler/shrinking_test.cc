// Goal: ranks leave a run in place when a user asked for fewer, when another run needs the slots
// that it has to spare, and when they must leave their node; rank 0 and enough others always stay.
#include "coordinator/scheduler/shrinking.h"

#include <gtest/gtest.h>

#include <vector>

namespace gp::coordinator {
namespace {

using std::chrono::seconds;

const RunId kRun("r");
const NodeId kNode("n");
const NodeId kOther("m");

// Run "r" was submitted for one to four ranks and trains with four: three on node "n" and the last
// one on node "m". The nodes have no other slots.
class ShrinkingTest : public ::testing::Test {
 protected:
  ShrinkingTest() {
    cluster_.now = kStart;
    nodes_[0] = MakeNode(kNode, 3);
    nodes_[1] = MakeNode(kOther, 1);
    Submission submission;
    submission.workers = 1;
    submission.workers_max = 4;
    submission.survivors_min = 1;
    submission.target_steps = 100;
    run_.id = kRun;
    run_.submission = std::make_shared<const Submission>(submission);
    run_.submitted_sequence = 1;
    run_.state = RunState::kRunning;
    run_.reason = "it trains";
    run_.epoch = 6;
    run_.holds_slots = true;
    run_.numbered_ranks = 4;
    run_.group = Group{.addresses = {"h:0", "h:1", "h:2", "h:3"}};
    for (int rank = 0; rank < 4; ++rank) {
      Node& node = nodes_[rank == 3 ? 1 : 0];
      const SlotId slot(fmt::to_string(rank == 3 ? 0 : rank));
      RankReport report{.run = kRun, .epoch = 6, .rank = rank, .slot = slot};
      report.incarnation = fmt::format("process-{}", rank);
      report.phase = RankPhase::kRunning;
      report.step = 40;
      run_.placement.push_back({rank, node.id, slot, report.incarnation});
      node.ranks.push_back(std::move(report));
    }
  }

  static Node MakeNode(const NodeId& id, int slots) {
    Node node;
    node.id = id;
    node.name = "node-" + id.value();
    node.connected = true;
    node.last_heard = kStart;
    for (int slot = 0; slot < slots; ++slot) {
      node.slots.push_back({SlotId(std::to_string(slot)), "cpu", {slot}});
    }
    return node;
  }

  void AddWaiting(int workers) {
    gp::coordinator::Run waiting;
    waiting.id = RunId("w");
    Submission submission;
    submission.name = "waiting";
    submission.workers = workers;
    waiting.submission = std::make_shared<const Submission>(submission);
    waiting.submitted_sequence = 2;
    waiting.state = RunState::kQueued;
    waiting.reason = "it waits";
    cluster_.Set(waiting);
  }

  Plan Make() {
    for (const Node& node : nodes_) cluster_.nodes[node.id] = std::make_shared<const Node>(node);
    cluster_.Set(run_);
    Plan plan;
    PlanShrinking(cluster_, Policy(), {cluster_.now, Timestamp(seconds(5000))}, plan);
    return plan;
  }

  // The ranks that stay, by their old numbers, and the reason; empty without a change.
  std::pair<std::vector<std::string>, std::string> Staying() {
    const Plan plan = Make();
    if (plan.empty()) return {};
    const auto* next = std::get_if<RunReconfigured>(&plan[0].event);
    EXPECT_NE(next, nullptr);
    if (next == nullptr) return {};
    std::vector<std::string> staying;
    for (const Placement& member : next->members) staying.push_back(member.incarnation);
    return {staying, next->reason};
  }

  using Ranks = std::vector<std::string>;

  static constexpr Instant kStart{seconds(100'000)};
  Cluster cluster_;
  Node nodes_[2];
  gp::coordinator::Run run_;
};

TEST_F(ShrinkingTest, NoRankLeavesWithoutAReason) { EXPECT_TRUE(Make().empty()); }

TEST_F(ShrinkingTest, TheLastRanksLeaveWhenAUserAskedForFewer) {
  run_.resized_to = 2;
  const auto [staying, reason] = Staying();
  EXPECT_EQ(staying, (Ranks{"process-0", "process-1"}));
  EXPECT_EQ(reason, "the run was resized; the run goes on with 2 of 2 ranks since step 40");
  nodes_[0].ranks[1].holds = true;
  EXPECT_TRUE(Make().empty()) << "the group is not settled";
}

TEST_F(ShrinkingTest, AJoinerLeavesFirst) {
  run_.resized_to = 4;
  run_.joiners.push_back({6, {4, kNode, SlotId("9")}});
  const Plan plan = Make();
  ASSERT_EQ(plan.size(), 1u);
  const auto* left = std::get_if<JoinerLeft>(&plan[0].event);
  ASSERT_NE(left, nullptr);
  EXPECT_EQ(left->rank, 4);
  EXPECT_FALSE(left->failed);
}

TEST_F(ShrinkingTest, SpareRanksLeaveForARunThatThenFits) {
  AddWaiting(2);
  const auto [staying, reason] = Staying();
  EXPECT_EQ(staying, (Ranks{"process-0", "process-1"}));
  EXPECT_EQ(reason,
            "run w (waiting) needs the slot; the run goes on with 2 of 2 ranks since step 40");
}

TEST_F(ShrinkingTest, NoRankLeavesForARunThatDoesNotFitEvenThen) {
  AddWaiting(4);
  EXPECT_TRUE(Make().empty()) << "rank 0 stays";
  run_.resized_to = 4;
  AddWaiting(1);
  EXPECT_TRUE(Make().empty()) << "a user asked for four";
}

TEST_F(ShrinkingTest, SlotsThatAreAboutToBeFreeAreCounted) {
  AddWaiting(2);
  run_.placement.resize(2);
  run_.group->addresses.resize(2);
  nodes_[0].withdrawn[SlotId("2")] = 7;
  EXPECT_TRUE(Make().empty());
}

TEST_F(ShrinkingTest, RanksLeaveANodeThatIsDrainedOrWhoseAgentIsStopped) {
  nodes_[1].leaving = true;
  auto [staying, reason] = Staying();
  EXPECT_EQ(staying, (Ranks{"process-0", "process-1", "process-2"}));
  EXPECT_EQ(reason,
            "the agent of node node-m is being stopped; the run goes on with 3 of 3 ranks since "
            "step 40");
  nodes_[1].leaving = false;
  nodes_[1].cordon = Cordon{.drain = true};
  EXPECT_EQ(Staying().first.size(), 3u);
  EXPECT_TRUE(MayLeaveInPlace(cluster_, run_));
}

TEST_F(ShrinkingTest, RankZeroNeverLeavesInPlace) {
  nodes_[0].leaving = true;
  EXPECT_TRUE(Make().empty());
  EXPECT_FALSE(MayLeaveInPlace(cluster_, run_));
}

}  // namespace
}  // namespace gp::coordinator
