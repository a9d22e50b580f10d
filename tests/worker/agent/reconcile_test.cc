#include "worker/agent/reconcile.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "worker/agent/assignment_check.h"

namespace gp::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const MonotonicTime kNow{std::chrono::hours(1)};

SlotTable TwoSlots() { return SlotTable(CutCpuSlots(2, {0, 1}, 0)); }

v1::Assignment& Assign(v1::DesiredState& desired, uint64_t epoch, int rank, const std::string& slot,
                       const std::string& run = "run1") {
  v1::Assignment& assignment = *desired.add_assignments();
  assignment.set_run_id(run);
  assignment.set_epoch(epoch);
  assignment.set_rank(rank);
  assignment.set_slot_id(slot);
  assignment.set_world_size(2);
  return assignment;
}

Rank& AddRank(RankTable& ranks, uint64_t epoch, int rank, const std::string& slot,
              v1::RankPhase phase, const std::string& run = "run1") {
  return ranks.Add(
      Rank{.key = {run, epoch, rank}, .slot_id = slot, .phase = phase, .phase_since = kNow});
}

// Writes each action as short text such as "spawn run1/2/0", for readable tables.
struct Teller {
  static std::string Key(const RankKey& key) {
    return key.run_id + "/" + std::to_string(key.epoch) + "/" + std::to_string(key.rank);
  }
  std::string operator()(const Spawn& a) const { return "spawn " + Key(KeyOf(a.assignment)); }
  std::string operator()(const Decline& a) const {
    return "decline " + Key(KeyOf(a.assignment)) + " " + a.exit.message;
  }
  std::string operator()(const Continue& a) const {
    return "continue " + Key(a.from) + " as " + Key(a.to);
  }
  std::string operator()(const SendConfigure& a) const { return "configure " + Key(a.key); }
  std::string operator()(const SendGo& a) const { return "go " + Key(a.key); }
  std::string operator()(const SendStop& a) const {
    return (a.save_within ? "stop " : "stop now ") + Key(a.key);
  }
  std::string operator()(const SendSealResult& a) const {
    return (a.sealed ? "sealed " : "refused ") + std::to_string(a.step) + " " + Key(a.key);
  }
  std::string operator()(const Terminate& a) const { return "terminate " + Key(a.key); }
  std::string operator()(const Kill& a) const { return "kill " + Key(a.key); }
  std::string operator()(const Forget& a) const { return "forget " + Key(a.key); }
};

std::vector<std::string> Plan(const v1::DesiredState* desired, const RankTable& ranks,
                              MonotonicTime now = kNow, const SlotTable& slots = TwoSlots(),
                              AgentMode mode = AgentMode::kServing) {
  std::vector<std::string> told;
  for (const Action& action : Reconcile(desired, ranks, slots, {}, now, mode)) {
    told.push_back(std::visit(Teller{}, action));
  }
  return told;
}

using Words = std::vector<std::string>;

TEST(Reconcile, DoesNothingBeforeTheCoordinatorSpoke) {
  RankTable ranks;
  AddRank(ranks, 1, 0, "cpu-0", v1::RANK_PHASE_RUNNING);
  EXPECT_EQ(Plan(nullptr, ranks), Words{});
}

TEST(Reconcile, SpawnsWhatIsMissingAndOnlyThat) {
  v1::DesiredState desired;
  Assign(desired, 1, 0, "cpu-0");
  Assign(desired, 1, 1, "cpu-1");
  RankTable ranks;
  EXPECT_EQ(Plan(&desired, ranks), (Words{"spawn run1/1/0", "spawn run1/1/1"}));
  AddRank(ranks, 1, 0, "cpu-0", v1::RANK_PHASE_STARTING);
  EXPECT_EQ(Plan(&desired, ranks), Words{"spawn run1/1/1"});
  AddRank(ranks, 1, 1, "cpu-1", v1::RANK_PHASE_STARTING);
  EXPECT_EQ(Plan(&desired, ranks), Words{});
}

TEST(Reconcile, AProcessGoesOnInTheNextEpochAsTheRankThatItIsThere) {
  v1::DesiredState desired;
  v1::Assignment& assignment = Assign(desired, 2, 0, "cpu-1");
  assignment.set_incarnation("process-b");
  assignment.set_world_size(1);
  assignment.mutable_membership()->add_addresses("h:1");
  assignment.set_go(true);
  RankTable ranks;
  AddRank(ranks, 1, 0, "cpu-0", v1::RANK_PHASE_EXITED).exit_reported = true;
  Rank& survivor = AddRank(ranks, 1, 1, "cpu-1", v1::RANK_PHASE_RUNNING);
  survivor.incarnation = "process-b";
  survivor.configured = survivor.told_go = true;
  EXPECT_EQ(Plan(&desired, ranks),
            (Words{"continue run1/1/1 as run1/2/0", "configure run1/2/0", "forget run1/1/0"}));
  ranks.Continue({"run1", 1, 1}, {"run1", 2, 0}, kNow);
  ranks.Find({"run1", 2, 0})->configured = true;
  EXPECT_EQ(Plan(&desired, ranks), Words{"forget run1/1/0"});
}

void AssignJoiner(v1::DesiredState& desired) {
  v1::Assignment& joiner = Assign(desired, 2, 4, "cpu-1");
  joiner.set_joins(true);
  joiner.set_world_size(5);
}

TEST(Reconcile, AnAgentThatIsStoppedWaitsForTheCoordinatorToTakeARankAway) {
  v1::DesiredState desired;
  Assign(desired, 1, 0, "cpu-0").set_regroups(true);
  Assign(desired, 1, 1, "cpu-1", "run2");
  RankTable ranks;
  AddRank(ranks, 1, 0, "cpu-0", v1::RANK_PHASE_RUNNING).leaves_since = kNow;
  AddRank(ranks, 1, 1, "cpu-1", v1::RANK_PHASE_RUNNING, "run2").leaves_since = kNow;
  const auto plan = [&](seconds later) {
    return Plan(&desired, ranks, kNow + later, TwoSlots(), AgentMode::kLeaving);
  };
  EXPECT_EQ(plan(seconds(2)), Words{"stop run2/1/1"});
  EXPECT_EQ(plan(seconds(3)), (Words{"stop run1/1/0", "stop run2/1/1"}));
  desired.mutable_assignments()->DeleteSubrange(0, 1);
  EXPECT_EQ(plan(seconds(2)), (Words{"kill run1/1/0", "stop run2/1/1"}));
}

TEST(Reconcile, ARankThatJoinsIsStartedBesideTheOthersAndGoesOnAsAMember) {
  v1::DesiredState desired;
  Assign(desired, 3, 0, "cpu-0").set_incarnation("process-a");
  AssignJoiner(desired);
  RankTable ranks;
  AddRank(ranks, 3, 0, "cpu-0", v1::RANK_PHASE_RUNNING).incarnation = "process-a";
  EXPECT_EQ(Plan(&desired, ranks), Words{"spawn run1/2/4"});
  AddRank(ranks, 2, 4, "cpu-1", v1::RANK_PHASE_LISTENING).incarnation = "process-b";
  EXPECT_EQ(Plan(&desired, ranks), Words{}) << "it waits until a group names it";
  v1::DesiredState joined;
  Assign(joined, 4, 0, "cpu-0").set_incarnation("process-a");
  v1::Assignment& member = Assign(joined, 4, 1, "cpu-1");
  member.set_incarnation("process-b");
  for (v1::Assignment& one : *joined.mutable_assignments()) {
    for (const char* address : {"h:1", "h:2"}) one.mutable_membership()->add_addresses(address);
  }
  EXPECT_EQ(Plan(&joined, ranks), (Words{"continue run1/3/0 as run1/4/0", "configure run1/4/0",
                                         "continue run1/2/4 as run1/4/1", "configure run1/4/1"}));
}

TEST(Reconcile, ARankThatJoinsStartsWhenTheProcessInItsSlotIsGone) {
  v1::DesiredState desired;
  AssignJoiner(desired);
  RankTable ranks;
  AddRank(ranks, 1, 1, "cpu-1", v1::RANK_PHASE_RUNNING);
  EXPECT_EQ(Plan(&desired, ranks), Words{"kill run1/1/1"});
  ranks.Find({"run1", 1, 1})->phase = v1::RANK_PHASE_EXITED;
  EXPECT_EQ(Plan(&desired, ranks), Words{"spawn run1/2/4"});
}

TEST(Reconcile, AProcessThatTheNextEpochDoesNotNameIsKilledAndOneThatIsGoneIsReported) {
  v1::DesiredState desired;
  v1::Assignment& assignment = Assign(desired, 2, 0, "cpu-1");
  assignment.set_incarnation("process-b");
  assignment.mutable_membership()->add_addresses("h:1");
  RankTable ranks;
  AddRank(ranks, 1, 1, "cpu-1", v1::RANK_PHASE_RUNNING).incarnation = "another";
  EXPECT_EQ(
      Plan(&desired, ranks),
      (Words{"kill run1/1/1", "decline run1/2/0 its trainer ended when the agent was restarted"}));
}

TEST(Reconcile, KillsWhatRunsInALostSlotOnce) {
  v1::DesiredState desired;
  Assign(desired, 1, 0, "cpu-0");
  RankTable ranks;
  Rank& rank = AddRank(ranks, 1, 0, "cpu-0", v1::RANK_PHASE_RUNNING);
  SlotTable slots = TwoSlots();
  slots.SetHealth({{"cpu-0", {.lost = false, .problem = "its program is missing"}}});
  EXPECT_EQ(Plan(&desired, ranks, kNow, slots), Words{}) << "what runs may go on";
  slots.SetHealth({{"cpu-0", {.lost = true, .problem = "the GPU is lost"}}});
  EXPECT_EQ(Plan(&desired, ranks, kNow, slots), Words{"kill run1/1/0"});
  EXPECT_EQ(Plan(nullptr, ranks, kNow, slots), Words{"kill run1/1/0"});
  rank.killed = true;
  EXPECT_EQ(Plan(&desired, ranks, kNow, slots), Words{});
}

TEST(Reconcile, StartsNothingInASlotWithAProblemAndSaysWhy) {
  v1::DesiredState desired;
  Assign(desired, 1, 0, "cpu-0");
  SlotTable slots = TwoSlots();
  slots.SetHealth({{"cpu-0", {.lost = false, .problem = "its program is missing"}}});
  EXPECT_EQ(Plan(&desired, RankTable(), kNow, slots),
            Words{"decline run1/1/0 its program is missing"});
}

TEST(Reconcile, KillsWhatIsNotWantedAndForgetsItOnceTheExitWasTold) {
  const v1::DesiredState desired;
  RankTable ranks;
  Rank& rank = AddRank(ranks, 1, 0, "cpu-0", v1::RANK_PHASE_RUNNING);
  EXPECT_EQ(Plan(&desired, ranks), Words{"kill run1/1/0"});
  rank.killed = true;
  EXPECT_EQ(Plan(&desired, ranks), Words{});
  rank.phase = v1::RANK_PHASE_EXITED;
  EXPECT_EQ(Plan(&desired, ranks), Words{});
  rank.exit_reported = true;
  EXPECT_EQ(Plan(&desired, ranks), Words{"forget run1/1/0"});
}

TEST(Reconcile, KeepsAnExitThatTheCoordinatorStillListsAndDoesNotStartItAgain) {
  v1::DesiredState desired;
  Assign(desired, 1, 0, "cpu-0");
  RankTable ranks;
  AddRank(ranks, 1, 0, "cpu-0", v1::RANK_PHASE_EXITED).exit_reported = true;
  EXPECT_EQ(Plan(&desired, ranks), Words{});
}

TEST(Reconcile, StartsANewEpochOnlyWhenTheOldOneIsReaped) {
  v1::DesiredState desired;
  Assign(desired, 2, 0, "cpu-1");
  RankTable ranks;
  Rank& old = AddRank(ranks, 1, 0, "cpu-0", v1::RANK_PHASE_RUNNING);
  EXPECT_EQ(Plan(&desired, ranks), Words{"kill run1/1/0"});
  old.killed = true;
  EXPECT_EQ(Plan(&desired, ranks), Words{});
  old.phase = v1::RANK_PHASE_EXITED;
  EXPECT_EQ(Plan(&desired, ranks), Words{"spawn run1/2/0"});
}

TEST(Reconcile, NeverStartsAnEpochOlderThanOneThatIsHere) {
  v1::DesiredState desired;
  Assign(desired, 1, 0, "cpu-0");
  Assign(desired, 2, 1, "cpu-1");
  RankTable ranks;
  AddRank(ranks, 2, 1, "cpu-1", v1::RANK_PHASE_EXITED);
  EXPECT_EQ(Plan(&desired, ranks), Words{});
}

TEST(Reconcile, GivesABusySlotToNobodyElse) {
  v1::DesiredState desired;
  Assign(desired, 1, 0, "cpu-0");
  Assign(desired, 1, 0, "cpu-0", "run2");
  RankTable ranks;
  EXPECT_EQ(Plan(&desired, ranks), Words{"spawn run1/1/0"});
  AddRank(ranks, 1, 0, "cpu-0", v1::RANK_PHASE_RUNNING);
  EXPECT_EQ(Plan(&desired, ranks), Words{});
}

TEST(Reconcile, DeclinesAnUnknownSlotByName) {
  v1::DesiredState desired;
  Assign(desired, 1, 0, "gpu-7");
  const Words plan = Plan(&desired, RankTable());
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0],
            "decline run1/1/0 slot 'gpu-7' does not exist on this node; it has cpu-0, cpu-1");
}

// assignment_check_test.cc has the cases that are refused.
TEST(Reconcile, AnAssignmentOfALyingCoordinatorIsDeclined) {
  v1::DesiredState desired;
  Assign(desired, 1, 0, "cpu-0").set_run_id("../x");
  Assign(desired, 1, 0, "cpu-1");
  EXPECT_EQ(Plan(&desired, RankTable()),
            (Words{"decline ../x/1/0 the agent refuses it: '../x' is not a valid run id",
                   "spawn run1/1/0"}));
}

TEST(Reconcile, MoreAssignmentsThanANodeCanHaveAreNotTaken) {
  v1::DesiredState desired;
  for (int i = 0; i <= kAssignmentsMax; ++i) Assign(desired, 1, i, "cpu-0");
  NewestDesiredState newest;
  EXPECT_FALSE(newest.Accept(desired));
  EXPECT_EQ(newest.current(), nullptr);
}

TEST(Reconcile, ARestartedAgentDeclinesAnEpochWhoseGroupCountsOnItsLostTrainer) {
  v1::DesiredState desired;
  Assign(desired, 1, 0, "cpu-0").mutable_membership()->set_secret("s");
  EXPECT_EQ(Plan(&desired, RankTable()),
            Words{"decline run1/1/0 its trainer ended when the agent was restarted"});
}

TEST(Reconcile, ConfiguresAListeningRankAndStartsAReadyOne) {
  v1::DesiredState desired;
  v1::Assignment& assignment = Assign(desired, 1, 0, "cpu-0");
  RankTable ranks;
  Rank& rank = AddRank(ranks, 1, 0, "cpu-0", v1::RANK_PHASE_LISTENING);
  EXPECT_EQ(Plan(&desired, ranks), Words{});
  assignment.mutable_membership()->add_addresses("127.0.0.1:1");
  EXPECT_EQ(Plan(&desired, ranks), Words{"kill run1/1/0"}) << "one address for two ranks";
  assignment.mutable_membership()->add_addresses("127.0.0.1:2");
  EXPECT_EQ(Plan(&desired, ranks), Words{"configure run1/1/0"});
  rank.configured = true;
  assignment.set_go(true);
  EXPECT_EQ(Plan(&desired, ranks), Words{});
  rank.phase = v1::RANK_PHASE_READY;
  EXPECT_EQ(Plan(&desired, ranks), Words{"go run1/1/0"});
  rank.told_go = true;
  EXPECT_EQ(Plan(&desired, ranks), Words{});
}

TEST(Reconcile, ARankOfAGroupOfGpusWaitsForTheIdOfRank0) {
  v1::DesiredState desired;
  v1::Membership& membership = *Assign(desired, 1, 1, "cpu-0").mutable_membership();
  membership.add_addresses("127.0.0.1:1");
  membership.add_addresses("127.0.0.1:2");
  membership.set_needs_nccl_id(true);
  RankTable ranks;
  AddRank(ranks, 1, 1, "cpu-0", v1::RANK_PHASE_LISTENING);
  EXPECT_EQ(Plan(&desired, ranks), Words{});
  membership.set_nccl_id("00ff");
  EXPECT_EQ(Plan(&desired, ranks), Words{"configure run1/1/1"});
}

TEST(Reconcile, AnswersEachWrittenCheckpointOnce) {
  v1::DesiredState desired;
  v1::Assignment& assignment = Assign(desired, 1, 0, "cpu-0");
  assignment.add_sealed_steps(10);
  v1::RefusedSeal& refused = *assignment.add_refused_seals();
  refused.set_step(20);
  refused.set_reason("stale");
  RankTable ranks;
  Rank& rank = AddRank(ranks, 1, 0, "cpu-0", v1::RANK_PHASE_RUNNING);
  for (const int step : {10, 20, 30}) rank.written.emplace_back().set_step(step);
  EXPECT_EQ(Plan(&desired, ranks), (Words{"sealed 10 run1/1/0", "refused 20 run1/1/0"}));
  rank.written.erase(rank.written.begin(), rank.written.begin() + 2);
  EXPECT_EQ(Plan(&desired, ranks), Words{});
}

TEST(Reconcile, StopsWithTimeToSaveThenWithout) {
  v1::DesiredState desired;
  v1::Assignment& assignment = Assign(desired, 1, 0, "cpu-0");
  assignment.set_stop(true);
  RankTable ranks;
  Rank& rank = AddRank(ranks, 1, 0, "cpu-0", v1::RANK_PHASE_RUNNING);
  EXPECT_EQ(Plan(&desired, ranks), Words{"stop run1/1/0"});
  rank.told_stop_at = kNow;
  EXPECT_EQ(Plan(&desired, ranks, kNow + milliseconds(29'999)), Words{});
  EXPECT_EQ(Plan(&desired, ranks, kNow + seconds(30)), Words{"stop now run1/1/0"});
  assignment.set_stop_now(true);
  EXPECT_EQ(Plan(&desired, ranks), Words{"stop now run1/1/0"});
  rank.told_stop_now_at = kNow;
  EXPECT_EQ(Plan(&desired, ranks, kNow + milliseconds(1999)), Words{});
}

TEST(Reconcile, AnswersForWhatAStoppedRankSaved) {
  v1::DesiredState desired;
  v1::Assignment& assignment = Assign(desired, 1, 0, "cpu-0");
  assignment.set_stop(true);
  assignment.add_sealed_steps(10);
  RankTable ranks;
  Rank& rank = AddRank(ranks, 1, 0, "cpu-0", v1::RANK_PHASE_RUNNING);
  rank.told_stop_at = kNow;
  rank.written.emplace_back().set_step(10);
  EXPECT_EQ(Plan(&desired, ranks), Words{"sealed 10 run1/1/0"});
}

TEST(Reconcile, AnAgentThatLeavesStopsWhatRunsAndStartsNothing) {
  v1::DesiredState desired;
  Assign(desired, 1, 0, "cpu-0");
  Assign(desired, 1, 1, "cpu-1");
  RankTable ranks;
  AddRank(ranks, 1, 0, "cpu-0", v1::RANK_PHASE_RUNNING);
  EXPECT_EQ(Plan(&desired, ranks, kNow, TwoSlots(), AgentMode::kLeaving),
            (Words{"stop run1/1/0", "decline run1/1/1 the agent is being stopped"}));
  EXPECT_EQ(Plan(nullptr, ranks, kNow, TwoSlots(), AgentMode::kLeaving), Words{"stop run1/1/0"});
}

TEST(Reconcile, StopsAtOnceByTheLinkThenBySigtermThenBySigkill) {
  v1::DesiredState desired;
  v1::Assignment& assignment = Assign(desired, 1, 0, "cpu-0");
  assignment.set_stop(true);
  assignment.set_stop_now(true);
  RankTable ranks;
  Rank& rank = AddRank(ranks, 1, 0, "cpu-0", v1::RANK_PHASE_RUNNING);
  EXPECT_EQ(Plan(&desired, ranks), Words{"stop now run1/1/0"});
  rank.told_stop_now_at = kNow;
  EXPECT_EQ(Plan(&desired, ranks, kNow + milliseconds(1999)), Words{});
  EXPECT_EQ(Plan(&desired, ranks, kNow + seconds(2)), Words{"terminate run1/1/0"});
  rank.told_terminate = true;
  EXPECT_EQ(Plan(&desired, ranks, kNow + milliseconds(2999)), Words{});
  EXPECT_EQ(Plan(&desired, ranks, kNow + seconds(3)), Words{"kill run1/1/0"});
}

TEST(Reconcile, DoesNotStartWhatShallStop) {
  v1::DesiredState desired;
  Assign(desired, 1, 0, "cpu-0").set_stop(true);
  EXPECT_EQ(Plan(&desired, RankTable()), Words{"decline run1/1/0 stopped before it was started"});
}

TEST(Reconcile, KillsWhatOverrunsADeadlineEvenWhileTheCoordinatorIsAway) {
  RankTable ranks;
  AddRank(ranks, 1, 0, "cpu-0", v1::RANK_PHASE_STARTING);
  EXPECT_EQ(Plan(nullptr, ranks, kNow + minutes(14)), Words{});
  EXPECT_EQ(Plan(nullptr, ranks, kNow + minutes(15)), Words{"kill run1/1/0"});
  RankTable silent;
  AddRank(silent, 1, 0, "cpu-0", v1::RANK_PHASE_RUNNING).link_lost_at = kNow;
  EXPECT_EQ(Plan(nullptr, silent, kNow + seconds(10)), Words{"kill run1/1/0"});
}

v1::DesiredState Revision(uint64_t generation, uint64_t revision) {
  v1::DesiredState desired;
  desired.set_coordinator_generation(generation);
  desired.set_revision(revision);
  return desired;
}

TEST(Reconcile, KillsWhatHangsUnlessItWasToldToStop) {
  v1::DesiredState desired;
  Assign(desired, 1, 0, "cpu-0");
  RankTable ranks;
  Rank& rank = AddRank(ranks, 1, 0, "cpu-0", v1::RANK_PHASE_RUNNING);
  EXPECT_EQ(Plan(&desired, ranks), Words{});
  rank.hang = "hung in phase backward";
  EXPECT_EQ(Plan(&desired, ranks), Words{"kill run1/1/0"});
  EXPECT_EQ(Plan(nullptr, ranks), Words{"kill run1/1/0"}) << "also while the coordinator is away";
  rank.told_stop_at = kNow;
  EXPECT_EQ(Plan(&desired, ranks), Words{}) << "the limits of a stop count";
}

TEST(NewestDesiredState, TakesNewerAndEqualStatesAndDeclinesOlderOnes) {
  NewestDesiredState newest;
  EXPECT_EQ(newest.current(), nullptr);
  EXPECT_TRUE(newest.Accept(Revision(2, 5)));
  EXPECT_TRUE(newest.Accept(Revision(2, 5)));
  EXPECT_FALSE(newest.Accept(Revision(2, 4)));
  EXPECT_FALSE(newest.Accept(Revision(1, 9)));
  EXPECT_TRUE(newest.Accept(Revision(3, 1)));
  EXPECT_EQ(newest.current()->coordinator_generation(), 3u);
}

}  // namespace
}  // namespace gp::agent
