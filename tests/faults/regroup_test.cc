// kill -9 of random ranks at seeded random moments of a run with stability.recovery: in_place. The
// other ranks go on in the same step: nothing is taken again from a checkpoint, and the loss of
// every step and the final weights are those of the undisturbed run. Set GP_FAULT_SEED to replay.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "faults/fault_run.h"

namespace gp::testing {
namespace {

using std::chrono::microseconds;

constexpr int kSteps = 1000;
constexpr int kFirstKill = 5;     // earliest step
constexpr int kStepsApart = 100;  // most steps between two kills

std::string InPlaceRun(int workers) {
  return FaultRun(workers, kSteps) +
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

  // Kills random ranks of the run until one is left, sometimes two at a time; returns when each was
  // killed, in microseconds.
  std::vector<int64_t> KillAllButOne(const std::string& run, int ranks) {
    std::vector<int64_t> moments;
    int64_t step = kFirstKill;
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
      EXPECT_NE(next.reason().find(fmt::format(" of {} ranks since step ", ranks)),
                std::string::npos)
          << next.reason();
      step = next.progress().step() + 2;
    }
    return moments;
  }

  int64_t KillOne() {
    std::vector<pid_t> trainers = ChildrenOf(cluster_.worker("node-a").pid());
    std::erase_if(trainers, [this](pid_t pid) { return killed_.contains(pid); });
    const pid_t chosen =
        trainers.at(static_cast<size_t>(Draw(0, static_cast<int>(trainers.size()) - 1)));
    killed_.insert(chosen);
    const int64_t now = NowMicros();
    kill(chosen, SIGKILL);
    return now;
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
  std::set<pid_t> killed_;
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

TEST_F(RegroupFault, TwoOfFourRanksThatDieAtOnceAreLeftBehind) {
  std::cout << "GP_FAULT_SEED=" << seed_ << "\n";
  cluster_.StartWorker("node-a", {.slots = 4});
  const std::string run = cluster_.Submit(InPlaceRun(4));
  cluster_.WaitForStep(run, Draw(kFirstKill, kStepsApart));
  const std::vector<int64_t> moments = {KillOne(), KillOne()};
  cluster_.WaitFor(run, [](const v1::Run& now) {
    return now.reason().find("the run goes on with 2 of 4 ranks") != std::string::npos;
  });
  const v1::Run end = cluster_.WaitForEnd(run);
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_EQ(CountEvents(cluster_, run, "placed"), 1) << "it was started again";
  EXPECT_TRUE(FinalWeights(cluster_, run) == UndisturbedWeights(kSteps)) << "seed " << seed_;
  NoteDelays(run, moments);
  PrintDelays();
}

TEST_F(RegroupFault, WhenAllRanksDieTheRunGoesOnFromItsNewestCheckpoint) {
  std::cout << "GP_FAULT_SEED=" << seed_ << "\n";
  cluster_.StartWorker("node-a", {.slots = 4});
  const std::string run = cluster_.Submit(InPlaceRun(4));
  cluster_.WaitForStep(run, Draw(kFirstKill, kStepsApart));
  for (int rank = 0; rank < 4; ++rank) KillOne();
  const v1::Run end = cluster_.WaitForEnd(run);
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_EQ(CountEvents(cluster_, run, "placed"), 2);
  EXPECT_TRUE(FinalWeights(cluster_, run) == UndisturbedWeights(kSteps)) << "seed " << seed_;
}

// Only the coordinator forms groups, so the others hold their state until it is back.
TEST_F(RegroupFault, RanksThatHoldGoOnWhenTheCoordinatorIsBack) {
  std::cout << "GP_FAULT_SEED=" << seed_ << "\n";
  cluster_.StartWorker("node-a", {.slots = 4});
  const std::string run = cluster_.Submit(InPlaceRun(4));
  cluster_.WaitForStep(run, Draw(kFirstKill, kStepsApart));
  cluster_.coordinator().Kill();
  KillOne();
  const int64_t returned = NowMicros();
  cluster_.StartCoordinator();
  const v1::Run end = cluster_.WaitForEnd(run);
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_EQ(CountEvents(cluster_, run, "placed"), 1) << "it was started again";
  EXPECT_EQ(CountEvents(cluster_, run, "reconfigured"), 1);
  EXPECT_TRUE(FinalWeights(cluster_, run) == UndisturbedWeights(kSteps)) << "seed " << seed_;
  NoteDelays(run, {returned});
  PrintDelays();
}

INSTANTIATE_TEST_SUITE_P(Cpus, RegroupKills, ::testing::Values(Case{2, 6}, Case{4, 3}));

}  // namespace
}  // namespace gp::testing
