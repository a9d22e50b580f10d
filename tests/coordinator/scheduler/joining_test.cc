// Goal: a run that lacks ranks gets them where slots are free and nobody of a higher priority
// waits, and they join a group in which every rank trains.
#include "coordinator/scheduler/joining.h"

#include <gtest/gtest.h>

#include <vector>

namespace gp::coordinator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const RunId kRun("r");

// Run "r" goes on with two of three ranks on node "n", in epoch 6. Slots "2" and "3" are free.
class JoiningTest : public ::testing::Test {
 protected:
  JoiningTest() {
    cluster_.now = kStart;
    node_.id = NodeId("n");
    node_.name = "node-n";
    node_.connected = true;
    node_.last_heard = kStart;
    for (int slot = 0; slot < 4; ++slot) {
      node_.slots.push_back({SlotId(std::to_string(slot)), "cpu", {slot}});
    }
    Submission submission;
    submission.workers = 3;
    submission.survivors_min = 1;
    submission.target_steps = 100;
    run_.id = kRun;
    run_.submission = std::make_shared<const Submission>(submission);
    run_.submitted_sequence = 1;
    run_.state = RunState::kRunning;
    run_.reason = "rank 0 died";
    run_.epoch = 6;
    run_.placed_epoch = 5;
    run_.holds_slots = true;
    run_.numbered_ranks = 2;
    run_.group = Group{.addresses = {"h:0", "h:1"}};
    for (int rank = 0; rank < 2; ++rank) {
      run_.placement.push_back({rank, NodeId("n"), SlotId(std::to_string(rank)), Process(rank)});
      node_.ranks.push_back(Report(6, rank, RankPhase::kRunning));
    }
  }

  static std::string Process(int slot) { return fmt::format("process-{}", slot); }

  static RankReport Report(Epoch epoch, int rank, RankPhase phase) {
    RankReport report{
        .run = kRun, .epoch = epoch, .rank = rank, .slot = SlotId(fmt::to_string(rank))};
    report.incarnation = Process(rank);
    report.phase = phase;
    report.step = 40;
    return report;
  }

  // A joiner that was placed in epoch 6, in the slot of its rank.
  RankReport& AddJoiner(int rank, bool stands_by) {
    run_.joiners.push_back({6, {rank, NodeId("n"), SlotId(fmt::to_string(rank))}});
    ++run_.numbered_ranks;
    RankReport report = Report(6, rank, RankPhase::kListening);
    report.address = fmt::format("h:{}", rank);
    report.holds = stands_by;
    report.held_since = kStart;
    report.step = 0;
    node_.ranks.push_back(std::move(report));
    return node_.ranks.back();
  }

  Plan Make() {
    node_.last_heard = cluster_.now;
    cluster_.nodes[node_.id] = std::make_shared<const Node>(node_);
    cluster_.Set(run_);
    Plan plan;
    PlanJoining(cluster_, Policy(), {cluster_.now, wall_}, plan);
    return plan;
  }

  // The only event of the plan, if it is of this kind.
  template <typename Body>
  std::optional<Body> Planned() {
    const Plan plan = Make();
    if (plan.size() != 1) return std::nullopt;
    const auto* body = std::get_if<Body>(&plan[0].event);
    return body == nullptr ? std::nullopt : std::optional(*body);
  }

  static constexpr Instant kStart{seconds(100'000)};
  Timestamp wall_{seconds(5000)};
  Cluster cluster_;
  Node node_;
  gp::coordinator::Run run_;
};

TEST_F(JoiningTest, AMissingRankIsStartedInAFreeSlot) {
  const auto placed = Planned<JoinerPlaced>();
  ASSERT_TRUE(placed.has_value());
  EXPECT_EQ(placed->epoch, 6u);
  EXPECT_EQ(placed->place, (Placement{2, NodeId("n"), SlotId("2")}));
  EXPECT_EQ(placed->reason, "a rank starts on node-n:2 to join the run");
  AddJoiner(2, /*stands_by=*/false);
  EXPECT_TRUE(Make().empty()) << "no rank is missing any more";
}

TEST_F(JoiningTest, NoRankIsStartedForARunThatDoesNotGoOnInPlaceOrIsAboutToEnd) {
  run_.pausing = true;
  EXPECT_TRUE(Make().empty());
  run_.pausing = false;
  for (RankReport& report : node_.ranks) report.step = 99;
  EXPECT_TRUE(Make().empty());
}

TEST_F(JoiningTest, ARunOfAHigherPriorityThatWaitsComesFirst) {
  gp::coordinator::Run waiting;
  waiting.id = RunId("w");
  Submission submission;
  submission.workers = 4;
  submission.priority = 1;
  waiting.submission = std::make_shared<const Submission>(submission);
  waiting.submitted_sequence = 2;
  waiting.state = RunState::kQueued;
  waiting.reason = "it waits";
  cluster_.Set(waiting);
  EXPECT_TRUE(Make().empty());
  submission.workers = 5;
  waiting.submission = std::make_shared<const Submission>(submission);
  cluster_.Set(waiting);
  EXPECT_TRUE(Planned<JoinerPlaced>().has_value()) << "the run that waits never fits";
  submission = {.workers = 4};
  waiting.submission = std::make_shared<const Submission>(submission);
  cluster_.Set(waiting);
  EXPECT_TRUE(Planned<JoinerPlaced>().has_value()) << "it has the same priority";
}

TEST_F(JoiningTest, ARankThatIsReadyBecomesTheLastMemberOfTheNextGroup) {
  AddJoiner(2, /*stands_by=*/true);
  const auto next = Planned<RunReconfigured>();
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->epoch, 7u);
  const std::vector<Placement> members = {{0, NodeId("n"), SlotId("0"), "process-0"},
                                          {1, NodeId("n"), SlotId("1"), "process-1"},
                                          {2, NodeId("n"), SlotId("2"), "process-2", true}};
  EXPECT_EQ(next->members, members);
  EXPECT_EQ(next->addresses, (std::vector<std::string>{"h:0", "h:1", "h:2"}));
  EXPECT_EQ(next->reason,
            "1 rank joined on node-n:2; the run goes on with 3 of 3 ranks since step 40");
}

TEST_F(JoiningTest, ARankWaitsForAGroupInWhichEveryRankTrains) {
  AddJoiner(2, /*stands_by=*/true);
  node_.ranks[1].epoch = 5;
  EXPECT_TRUE(Make().empty()) << "the last group is still forming";
  node_.ranks[1].epoch = 6;
  node_.ranks[1].holds = true;
  EXPECT_TRUE(Make().empty()) << "a rank lost a peer";
  node_.ranks[1].holds = false;
  node_.ranks[1].phase = RankPhase::kFinished;
  EXPECT_TRUE(Make().empty()) << "the run ends";
  node_.ranks[1].phase = RankPhase::kReady;
  EXPECT_TRUE(Planned<RunReconfigured>().has_value());
}

TEST_F(JoiningTest, RanksThatStartTogetherJoinTogether) {
  run_.submission = [&] {
    Submission submission = *run_.submission;
    submission.workers = 4;
    return std::make_shared<const Submission>(submission);
  }();
  AddJoiner(2, /*stands_by=*/true);
  AddJoiner(3, /*stands_by=*/false);
  EXPECT_TRUE(Make().empty());
  cluster_.now = kStart + milliseconds(300);
  ASSERT_TRUE(Planned<RunReconfigured>().has_value()) << "the other one takes too long";
  EXPECT_EQ(Planned<RunReconfigured>()->members.size(), 3u);
  cluster_.now = kStart;
  node_.ranks.back().holds = true;
  ASSERT_TRUE(Planned<RunReconfigured>().has_value());
  EXPECT_EQ(Planned<RunReconfigured>()->members.size(), 4u);
}

TEST_F(JoiningTest, AJoinerThatEndedGivesItsSlotBackAndTheNextOneWaits) {
  RankReport& report = AddJoiner(2, /*stands_by=*/false);
  report.phase = RankPhase::kExited;
  report.cause = ExitCause::kUnfit;
  report.message = "no AVX2";
  const auto left = Planned<JoinerLeft>();
  ASSERT_TRUE(left.has_value());
  EXPECT_EQ(left->epoch, 6u);
  EXPECT_EQ(left->rank, 2);
  EXPECT_EQ(left->cause, ExitCause::kUnfit);
  EXPECT_TRUE(left->failed);
  EXPECT_EQ(left->reason, "the rank that was to join on node-n:2 ended: no AVX2");
  run_.joiners.clear();
  run_.failed_joins = 2;
  run_.join_failed_at = wall_;
  wall_ += milliseconds(1900);
  EXPECT_TRUE(Make().empty());
  wall_ += milliseconds(200);
  EXPECT_TRUE(Planned<JoinerPlaced>().has_value());
}

TEST_F(JoiningTest, AJoinerLeavesANodeThatIsSilentOrDrained) {
  AddJoiner(2, /*stands_by=*/true);
  node_.cordon = Cordon{.drain = true};
  ASSERT_TRUE(Planned<JoinerLeft>().has_value());
  EXPECT_FALSE(Planned<JoinerLeft>()->failed);
  node_.cordon.reset();
  node_.connected = false;
  EXPECT_TRUE(Make().empty()) << "its agent may connect again";
}

}  // namespace
}  // namespace gp::coordinator
