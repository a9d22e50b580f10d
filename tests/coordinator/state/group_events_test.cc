// Goal: a joiner holds its slot until it is a member or has left, and failures in a row are
// counted.
#include <gtest/gtest.h>

#include "coordinator/state/cluster.h"
#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

const RunId kRun("r");
const NodeId kNode("n");

// Run "r" trains in epoch 1 with two ranks on node "n".
class TrainingRun {
 public:
  TrainingRun() {
    Event submit = SampleSubmit("r", "1");
    Submission& submission = std::get<RunSubmitted>(submit.body).submission;
    submission.workers = 3;
    submission.survivors_min = 1;
    submission.device = Device::kCpu;
    Do(submit);
    Do(RunQueued{"it fits"});
    Do(RunPlaced{.epoch = 1, .placement = {Place(0), Place(1), Place(2)}, .reason = "it fits"});
    Do(RunGroupReady{.epoch = 1, .addresses = {"h:0", "h:1", "h:2"}, .nonce = "n"});
    Do(RunStarted{1});
    Reconfigure(2, {Place(0), Place(1)});
  }

  static Placement Place(int slot, bool joins = false) {
    return {slot, kNode, SlotId(fmt::to_string(slot)), fmt::format("process-{}", slot), joins};
  }

  Status Apply(const Event& event) { return gp::coordinator::Apply(event, cluster_); }
  Status Apply(EventBody body, int64_t at = 1) {
    return Apply(Event{.run = kRun, .at = At(at), .body = std::move(body)});
  }
  void Do(const Event& event) { ASSERT_TRUE(Apply(event).ok()); }
  void Do(EventBody body, int64_t at = 1) {
    const Status status = Apply(std::move(body), at);
    ASSERT_TRUE(status.ok()) << status;
  }
  void Reconfigure(Epoch epoch, std::vector<Placement> members, int failed_joins = 0,
                   int64_t at = 1) {
    RunReconfigured next{.epoch = epoch,
                         .members = std::move(members),
                         .nonce = "n",
                         .reason = "another group",
                         .failed_joins = failed_joins};
    for (const Placement& member : next.members) {
      next.addresses.push_back(fmt::format("h:{}", member.slot));
    }
    Do(next, at);
  }
  const Run& run() const { return *(kept_ = cluster_.FindRun(kRun)); }
  bool IsWithdrawn(int slot) const {
    return cluster_.FindNode(kNode)->withdrawn.contains(SlotId(fmt::to_string(slot)));
  }

  Cluster cluster_;
  mutable std::shared_ptr<const Run> kept_;
};

class GroupEvents : public ::testing::Test, protected TrainingRun {};

TEST_F(GroupEvents, AJoinerHoldsItsSlotUntilItIsAMember) {
  EXPECT_EQ(run().shrunk_because, "another group");
  Placement place = Place(2);
  Do(JoinerPlaced{2, place, "it starts"});
  ASSERT_EQ(run().joiners.size(), 1u);
  EXPECT_EQ(run().joiners[0], (Joiner{2, place}));
  EXPECT_EQ(SlotsOf(run()).size(), 3u);
  EXPECT_EQ(run().assigned_sequence, cluster_.last_sequence) << "its agent must hear of it";
  Reconfigure(3, {Place(0), Place(1), Place(2, /*joins=*/true)});
  EXPECT_TRUE(run().joiners.empty());
  EXPECT_EQ(run().placement.size(), 3u);
  EXPECT_EQ(run().shrunk_because, "") << "it has all of its ranks";
}

TEST_F(GroupEvents, ARankIsNumberedAfterAllOthersOfItsEpoch) {
  EXPECT_FALSE(Apply(JoinerPlaced{2, {1, kNode, SlotId("2")}, ""}).ok());
  EXPECT_FALSE(Apply(JoinerPlaced{2, {2, kNode, SlotId("1")}, ""}).ok()) << "the slot is taken";
  EXPECT_FALSE(Apply(JoinerPlaced{1, {2, kNode, SlotId("2")}, ""}).ok()) << "an older epoch";
  Do(JoinerPlaced{2, {2, kNode, SlotId("2")}, ""});
  Do(JoinerLeft{.epoch = 2, .rank = 2, .failed = false, .reason = "drained"});
  EXPECT_EQ(run().failed_joins, 0);
  EXPECT_TRUE(IsWithdrawn(2));
  EXPECT_FALSE(Apply(JoinerPlaced{2, {2, kNode, SlotId("2")}, ""}).ok())
      << "its agent may still know a process of this number";
  Do(JoinerPlaced{2, {3, kNode, SlotId("2")}, ""});
  EXPECT_FALSE(Apply(JoinerLeft{.epoch = 2, .rank = 2}).ok());
}

TEST_F(GroupEvents, FailuresInARowAreCountedUntilARankHasJoined) {
  Do(JoinerPlaced{2, {2, kNode, SlotId("2")}, ""});
  Do(JoinerLeft{.epoch = 2, .rank = 2, .cause = ExitCause::kUnfit, .reason = "no AVX2"}, 7);
  EXPECT_EQ(run().failed_joins, 1);
  EXPECT_EQ(run().join_failed_at, At(7));
  EXPECT_TRUE(run().unfit_nodes.contains(kNode));
  Do(JoinerPlaced{2, {3, kNode, SlotId("2")}, ""});
  Reconfigure(3, {Place(0), Place(1), Place(2, true)});
  EXPECT_EQ(run().failed_joins, 1) << "it has no state yet";
  Reconfigure(4, {Place(0), Place(1)}, /*failed_joins=*/1, 9);
  EXPECT_EQ(run().failed_joins, 2);
  EXPECT_EQ(run().join_failed_at, At(9));
  Do(JoinerPlaced{4, {2, kNode, SlotId("2")}, ""});
  Reconfigure(5, {Place(0), Place(1), Place(2, true)});
  EXPECT_EQ(run().failed_joins, 2);
  Reconfigure(6, {Place(0), Place(1)});
  EXPECT_EQ(run().failed_joins, 0) << "it had the state when it died";
}

TEST_F(GroupEvents, AUserAsksForAnotherNumberOfRanks) {
  EXPECT_EQ(WantedRanks(run()), 3);
  Do(RunResized{2});
  EXPECT_EQ(WantedRanks(run()), 2);
  EXPECT_EQ(MostRanks(run()), 2);
  EXPECT_EQ(run().shrunk_because, "") << "it has as many as the user asked for";
  EXPECT_FALSE(Apply(RunResized{4}).ok()) << "it was submitted for three";
  EXPECT_FALSE(Apply(RunResized{0}).ok());
  EXPECT_EQ(ResizeRefusal(run(), 4),
            "it has at most 3 (resources.max_workers); submit with resources.max_workers: 4, or "
            "fork");
  Do(RunResized{3});
  EXPECT_EQ(WantedRanks(run()), 3);
}

TEST_F(GroupEvents, JoinersLeaveWhenTheRunDoes) {
  const Placement place{2, kNode, SlotId("2")};
  const std::vector<EventBody> ends = {RunDraining{2, "drained"}, CancelRequested{},
                                       RunFinishing{2}, RunRequeued{2, "stopped"},
                                       RankFailed{.epoch = 2, .rank = 0, .message = "it failed"}};
  for (const EventBody& end : ends) {
    TrainingRun fresh;
    fresh.Do(JoinerPlaced{2, place, "it starts"});
    fresh.Do(end);
    EXPECT_TRUE(fresh.run().joiners.empty()) << end.index();
    EXPECT_TRUE(fresh.IsWithdrawn(2)) << end.index();
  }
}

}  // namespace
}  // namespace gp::coordinator
