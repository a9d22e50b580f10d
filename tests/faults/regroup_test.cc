// kill -9 of random ranks at seeded random moments of a run with stability.recovery: in_place. The
// other ranks go on in the same step, and new ones join them: nothing is taken again from a
// checkpoint, and the loss of every step and the final weights are those of the undisturbed run.
// Set GP_FAULT_SEED to replay.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <thread>

#include "base/file.h"
#include "faults/fault_run.h"

namespace gp::testing {
namespace {

using std::chrono::microseconds;

constexpr int kSteps = 1000;
constexpr int kFirstKill = 5;     // earliest step
constexpr int kStepsApart = 100;  // most steps between two kills
constexpr int kLongSteps = 6000;  // enough for ranks to join
constexpr int kRanks = 4;         // of a run that ranks join

std::string InPlaceRun(int workers, int steps = kSteps) {
  return FaultRun(workers, steps) +
         "stability: {recovery: in_place}\n"
         "eval: {every: 7, batches: 4}\n"
         "sample: {every: 9, max_tokens: 4}\n";
}

std::map<int64_t, double> LossesOf(Cluster& cluster, const std::string& run) {
  std::map<int64_t, double> losses;
  for (const v1::MetricPoint& point : cluster.Points(run)) losses[point.step()] = point.loss();
  return losses;
}

int CountEvents(Cluster& cluster, const std::string& run, const std::string& kind) {
  int count = 0;
  for (const v1::RunEvent& event : cluster.Events(run)) count += event.kind() == kind ? 1 : 0;
  return count;
}

int64_t NowMicros() {
  return std::chrono::duration_cast<microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

struct Case {
  int ranks = 2;
  int runs = 3;  // with ranks - 1 kills each
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.ranks << "_ranks"; }

class RegroupFault : public ::testing::Test {
 protected:
  RegroupFault() {
    WriteText(cluster_);
    cluster_.StartCoordinator();
  }

  int Draw(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  // Kills the ranks with which the run began at random, all but one, sometimes two at a time;
  // returns when each was killed, in microseconds.
  std::vector<int64_t> KillAllButOne(const std::string& run, int ranks) {
    std::vector<int64_t> moments;
    int64_t step = kFirstKill;
    cluster_.WaitForStep(run, 1);
    members_ = ChildrenOf(cluster_.worker("node-a").pid());
    while (static_cast<int>(moments.size()) + 1 < ranks) {
      step += Draw(0, kStepsApart);
      cluster_.WaitForStep(run, step);
      std::this_thread::sleep_for(microseconds(Draw(0, 20'000)));
      const uint64_t epoch = cluster_.Get(run).epoch();
      moments.push_back(KillOne());
      const bool two = static_cast<int>(moments.size()) + 1 < ranks && Draw(0, 2) == 0;
      if (two) moments.push_back(KillOne());
      const v1::Run next = cluster_.WaitFor(
          run, [&](const v1::Run& now) { return IsTerminal(now.state()) || now.epoch() > epoch; });
      EXPECT_EQ(next.state(), v1::RUN_STATE_RUNNING) << next.reason();
      step = next.progress().step() + 2;
    }
    return moments;
  }

  // Kills one of members_.
  int64_t KillOne() {
    const auto chosen = members_.begin() + Draw(0, static_cast<int>(members_.size()) - 1);
    const pid_t pid = *chosen;
    members_.erase(chosen);
    const int64_t now = NowMicros();
    kill(pid, SIGKILL);
    return now;
  }

  // Waits until all ranks of the run train in one group; they are then members_. A group in which a
  // single rank has the state of the training must not lose it.
  void AwaitAllRanks(const std::string& run) {
    const v1::Run now = cluster_.WaitFor(run, [&](const v1::Run& one) {
      if (IsTerminal(one.state())) return true;
      if (one.state() != v1::RUN_STATE_RUNNING || one.placement_size() != kRanks) return false;
      const auto points = cluster_.Points(run);
      return !points.empty() && points.back().epoch() == one.epoch();
    });
    ASSERT_EQ(now.state(), v1::RUN_STATE_RUNNING) << now.reason();
    members_ = ChildrenOf(cluster_.worker("node-a").pid());
  }

  // How long each rank took from the decision to start it until the group had it.
  void PrintJoins(const std::string& run) {
    std::cout << "  from the start of a rank to its group, in seconds:";
    double placed = 0;
    for (const v1::RunEvent& event : cluster_.Events(run)) {
      const double at = static_cast<double>(event.at().seconds()) + event.at().nanos() * 1e-9;
      if (event.kind() == "joiner_placed") placed = at;
      if (event.kind() == "reconfigured" && event.reason().find("joined") != std::string::npos) {
        std::cout << fmt::format(" {:.3f}", at - placed);
      }
    }
    std::cout << "\n";
  }

  void ExpectTheUndisturbedRun(const std::string& run, int steps) {
    const v1::Run end = cluster_.WaitForEnd(run);
    EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
    for (const v1::RunEvent& event : cluster_.Events(run)) {
      EXPECT_NE(event.kind(), "rank_failed") << event.reason() << "; seed " << seed_;
    }
    EXPECT_EQ(CountEvents(cluster_, run, "placed"), 1) << "it was started again";
    EXPECT_TRUE(FinalWeights(cluster_, run) == UndisturbedWeights(steps))
        << "weights differ from the undisturbed run's; seed " << seed_;
  }

  // How long after each kill another group committed its first step.
  void NoteDelays(const std::string& run, const std::vector<int64_t>& moments) {
    std::map<uint64_t, int64_t> first;  // of each epoch
    for (const v1::MetricPoint& point : cluster_.Points(run)) {
      first.try_emplace(point.epoch(),
                        point.at().seconds() * 1'000'000 + point.at().nanos() / 1000);
    }
    for (const int64_t killed : moments) {
      const auto next = std::find_if(first.begin(), first.end(),
                                     [&](const auto& entry) { return entry.second > killed; });
      if (next == first.end()) continue;
      delays_.push_back(static_cast<double>(next->second - killed) * 1e-6);
    }
  }

  void PrintDelays() {
    std::sort(delays_.begin(), delays_.end());
    std::cout << "  next committed step after a kill, in seconds:";
    for (const double delay : delays_) std::cout << fmt::format(" {:.3f}", delay);
    if (!delays_.empty()) std::cout << fmt::format("; median {:.3f}", delays_[delays_.size() / 2]);
    std::cout << "\n";
  }

  Cluster cluster_;
  const uint64_t seed_ = FaultSeed();
  std::mt19937_64 random_{seed_};
  std::vector<pid_t> members_;  // trainers that may be killed
  std::vector<double> delays_;
};

class RegroupKills : public RegroupFault, public ::testing::WithParamInterface<Case> {};

TEST_P(RegroupKills, TheOtherRanksGoOnInTheSameStepWithTheSameBits) {
  const auto [ranks, runs] = GetParam();
  std::cout << "GP_FAULT_SEED=" << seed_ << "\n";
  cluster_.StartWorker("node-a", {.slots = 4});
  const std::string undisturbed = cluster_.Submit(FaultRun(1, kSteps));
  cluster_.WaitForEnd(undisturbed);
  const auto losses = LossesOf(cluster_, undisturbed);
  ASSERT_EQ(losses.size(), static_cast<size_t>(kSteps));
  for (int i = 0; i < runs && !HasFailure(); ++i) {
    const std::string run = cluster_.Submit(InPlaceRun(ranks));
    const auto moments = KillAllButOne(run, ranks);
    const v1::Run end = cluster_.WaitForEnd(run);
    EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
    EXPECT_EQ(end.failures(), 0);
    EXPECT_EQ(CountEvents(cluster_, run, "placed"), 1) << "it was started again";
    EXPECT_EQ(CountEvents(cluster_, run, "reconfigured"), static_cast<int>(end.epoch()) - 1);
    EXPECT_TRUE(LossesOf(cluster_, run) == losses) << "a loss differs; seed " << seed_;
    EXPECT_TRUE(FinalWeights(cluster_, run) == UndisturbedWeights(kSteps))
        << "weights differ from the undisturbed run's; seed " << seed_;
    NoteDelays(run, moments);
  }
  PrintDelays();
}

// The ranks of an agent die with it. Those of the other agent go on without them, without the wait
// for the lease.
TEST_F(RegroupFault, RanksOfAnotherAgentGoOnWhenOneDies) {
  cluster_.StartWorker("node-a", {.slots = 2});
  cluster_.StartWorker("node-b", {.slots = 2});
  const std::string run = cluster_.Submit(InPlaceRun(4));
  cluster_.WaitForStep(run, kFirstKill);
  const int64_t killed = NowMicros();
  cluster_.worker("node-b").Kill();
  const v1::Run next = cluster_.WaitFor(run, [](const v1::Run& now) { return now.epoch() > 1; });
  EXPECT_EQ(next.state(), v1::RUN_STATE_RUNNING) << next.reason();
  const v1::Run end = cluster_.WaitForEnd(run);
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_EQ(CountEvents(cluster_, run, "placed"), 1) << "it was started again";
  NoteDelays(run, {killed});
  PrintDelays();
}

// Ranks are killed again as soon as others have taken their places; sometimes the one that joins is
// killed, at any moment of its start.
TEST_F(RegroupFault, RanksThatDieAreReplacedWhileTheOthersTrain) {
  constexpr int kKills = 5;
  std::cout << "GP_FAULT_SEED=" << seed_ << "\n";
  cluster_.StartWorker("node-a", {.slots = kRanks});
  const std::string run = cluster_.Submit(InPlaceRun(kRanks, kLongSteps));
  for (int i = 0; i < kKills && !HasFailure(); ++i) {
    AwaitAllRanks(run);
    std::this_thread::sleep_for(microseconds(Draw(0, 20'000)));
    KillOne();
    if (Draw(0, 2) == 0) KillOne();
    if (Draw(0, 1) == 0) continue;
    std::this_thread::sleep_for(microseconds(Draw(0, 600'000)));
    for (const pid_t pid : ChildrenOf(cluster_.worker("node-a").pid())) {
      if (std::ranges::count(members_, pid) == 0) kill(pid, SIGKILL);
    }
  }
  ExpectTheUndisturbedRun(run, kLongSteps);
  EXPECT_GT(CountEvents(cluster_, run, "joiner_placed"), kKills);
  PrintJoins(run);
}

// One rank on four slots takes the others by itself; then a user asks for two, and another run for
// the rest.
TEST_F(RegroupFault, ARunGrowsToFourRanksAndShrinksToTwoWhileItTrains) {
  cluster_.StartWorker("node-a", {.slots = kRanks});
  const std::string run = cluster_.Submit(InPlaceRun(1, kLongSteps));
  AwaitAllRanks(run);
  v1::ResizeRequest request;
  request.set_request_id("resize");
  request.set_run(run);
  request.set_workers(2);
  v1::Run resized;
  grpc::ClientContext context;
  ASSERT_TRUE(cluster_.stub().Resize(&context, request, &resized).ok());
  const std::string other = cluster_.Submit(FaultRun(2, 20));
  cluster_.WaitFor(run, [](const v1::Run& now) { return now.placement_size() == 2; });
  EXPECT_EQ(cluster_.WaitForEnd(other).state(), v1::RUN_STATE_SUCCEEDED);
  ExpectTheUndisturbedRun(run, kLongSteps);
  PrintJoins(run);
}

// An elastic run has all four slots until another one waits, and takes them again after that.
TEST_F(RegroupFault, ARunGivesSpareSlotsToOneThatWaits) {
  cluster_.StartWorker("node-a", {.slots = kRanks});
  const std::string run = cluster_.Submit(InPlaceRun(1, kLongSteps));
  AwaitAllRanks(run);
  EXPECT_EQ(cluster_.WaitForEnd(cluster_.Submit(FaultRun(3, 20))).state(), v1::RUN_STATE_SUCCEEDED);
  ExpectTheUndisturbedRun(run, kLongSteps);
}

// SIGTERM to an agent: its ranks leave without a save, and the others go on.
TEST_F(RegroupFault, TheRanksOfAnAgentThatIsStoppedLeaveInPlace) {
  cluster_.StartWorker("node-a", {.slots = 2});
  cluster_.StartWorker("node-b", {.slots = 2});
  const std::string run = cluster_.Submit(InPlaceRun(kRanks, kLongSteps));
  AwaitAllRanks(run);
  const v1::Run before = cluster_.Get(run);
  const bool leads_on_a = before.placement(0).node_name() == "node-a";
  cluster_.worker(leads_on_a ? "node-b" : "node-a").Signal(SIGTERM);
  cluster_.WaitFor(run, [](const v1::Run& now) { return now.placement_size() == 2; });
  ExpectTheUndisturbedRun(run, kLongSteps);
  EXPECT_EQ(CountEvents(cluster_, run, "requeued"), 0);
}

class JoinFailpoints : public RegroupFault, public ::testing::WithParamInterface<const char*> {};

// The rank that gives its state, or the one that takes it, dies in the middle of that.
TEST_P(JoinFailpoints, ADeathInTheTransferLosesNothing) {
  const std::string run = cluster_.Submit(InPlaceRun(kRanks, kLongSteps));
  const std::string marker = JoinPath(cluster_.storage_root(), "runs/" + run + "/struck");
  cluster_.StartWorker("node-a",
                       {.slots = kRanks,
                        .environment = {fmt::format("GP_FAILPOINT={}:kill@2", GetParam()),
                                        "GP_FAILPOINT_ONCE=" + marker},
                        .config = "trainer: {environment: [GP_FAILPOINT, GP_FAILPOINT_ONCE]}\n"});
  AwaitAllRanks(run);
  KillOne();
  ASSERT_TRUE(Eventually([&] { return FileExists(marker); }));
  AwaitAllRanks(run);
  ExpectTheUndisturbedRun(run, kLongSteps);
}

INSTANTIATE_TEST_SUITE_P(Ranks, JoinFailpoints,
                         ::testing::Values("trainer.give_state", "trainer.take_state"),
                         [](const auto& name) {
                           return std::string(name.param).find("give") == std::string::npos
                                      ? "Joiner"
                                      : "Donor";
                         });

INSTANTIATE_TEST_SUITE_P(Cpus, RegroupKills, ::testing::Values(Case{2, 6}, Case{4, 3}));

}  // namespace
}  // namespace gp::testing
