// Stops a run at seeded moments in every way: SIGTERM to the agent, to a trainer, or to both
// daemons (as `gpctl down` does), sometimes combined with a kill. A clean stop loses no step and
// counts as no failure. After all stops the run ends with the weights of an undisturbed run. Set
// GP_FAULT_SEED to replay.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <regex>

#include "faults/fault_run.h"

namespace gp::testing {
namespace {

using std::chrono::milliseconds;

constexpr int kStoppedSteps = 300;
constexpr int kStepsBetweenMax = 40;  // between two stops

enum class Way { kAgent, kTrainer, kBothDaemons };
constexpr int kWays = 3;

struct StoppedGroup {
  int ranks = 1;
  RankDevice device = RankDevice::kCpu;
};

void PrintTo(const StoppedGroup& group, std::ostream* out) {
  *out << group.ranks << (group.device == RankDevice::kCpu ? "_on_CPUs" : "_on_GPUs_zero1");
}

class Stop : public ::testing::TestWithParam<StoppedGroup> {
 protected:
  void SetUp() override {
    std::cout << "seed " << seed_ << " (GP_FAULT_SEED)\n";
    WriteText(cluster_);
    cluster_.StartCoordinator();
    node_ = NodeWith(cluster_, 4, GetParam().device);
    cluster_.StartWorker("node-a", node_);
    run_ = cluster_.Submit(FaultRun(GetParam().ranks, kStoppedSteps, GetParam().device));
  }

  int Draw(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  // Waits for the next stop's moment; false if the run ended first.
  bool WaitForTheMoment() {
    const v1::Run begun = cluster_.WaitForState(run_, v1::RUN_STATE_RUNNING);
    const int64_t step = begun.progress().step() + Draw(1, kStepsBetweenMax);
    return !IsTerminal(cluster_.WaitForStep(run_, step).state());
  }

  void Strike(Way way) {
    std::cout << "  stop by way " << static_cast<int>(way) << "\n";
    if (way == Way::kTrainer) {
      const auto trainers = ChildrenOf(cluster_.worker("node-a").pid());
      if (trainers.empty()) return;
      const auto which = static_cast<size_t>(Draw(0, static_cast<int>(trainers.size()) - 1));
      for (int i = Draw(1, 2); i > 0; --i) kill(trainers[which], SIGTERM);
      return;
    }
    EndCleanly(cluster_.worker("node-a"));
    if (way == Way::kBothDaemons) {
      EndCleanly(cluster_.coordinator());
      cluster_.StartCoordinator();
    }
    cluster_.LaunchWorker("node-a", node_);
  }

  // Sends SIGTERM, sometimes twice as Slurm and users do, and expects a clean exit.
  void EndCleanly(Process& daemon) {
    daemon.Signal(SIGTERM);
    if (Draw(0, 1) == 1) {
      daemon.Wait(milliseconds(Draw(0, 30)));
      daemon.Signal(SIGTERM);
    }
    EXPECT_EQ(daemon.Wait(kPatience), 0);
  }

  void ExpectUndisturbedWeights() {
    const v1::Run end = cluster_.WaitForEnd(run_);
    EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
    EXPECT_TRUE(FinalWeights(cluster_, run_) ==
                UndisturbedWeights(kStoppedSteps, GetParam().device));
  }

  // Expects that every run event such as "rank 0: stopped after step 37: SIGTERM; resumes from step
  // 37 when slots are free" names the same step twice.
  void ExpectEveryStopToGoOnWhereItWas() {
    static const std::regex kFromTo("stopped after step (\\d+): .*; resumes from step (\\d+) ");
    int stops = 0;
    for (const v1::RunEvent& event : cluster_.Events(run_)) {
      EXPECT_NE(event.kind(), "rank_failed") << event.reason();
      if (event.kind() != "requeued") continue;
      ++stops;
      std::smatch found;
      const std::string reason = event.reason();
      ASSERT_TRUE(std::regex_search(reason, found, kFromTo)) << reason;
      EXPECT_EQ(found[1], found[2]) << reason;
    }
    EXPECT_GT(stops, 0);
  }

  const uint64_t seed_ = FaultSeed();
  std::mt19937_64 random_{seed_};
  Cluster cluster_;
  WorkerSetup node_;
  std::string run_;
};

TEST_P(Stop, AtAnyMomentLosesNoStepAndCountsNoFailure) {
  for (int stops = 0; stops < GP_FAULT_STOPS && WaitForTheMoment(); ++stops) {
    Strike(static_cast<Way>(Draw(0, kWays - 1)));
  }
  ExpectUndisturbedWeights();
  EXPECT_EQ(cluster_.Get(run_).failures(), 0);
  ExpectEveryStopToGoOnWhereItWas();
}

// A kill interrupts the save of the stop, so the run resumes from the last sealed checkpoint.
TEST_P(Stop, ThatADeathCutsShortIsSafe) {
  for (int stops = 0; stops < GP_FAULT_STOPS && WaitForTheMoment(); ++stops) {
    Process& worker = cluster_.worker("node-a");
    worker.Signal(SIGTERM);
    worker.Wait(milliseconds(Draw(0, 60)));
    switch (Draw(0, 2)) {
      case 0:
        for (const int trainer : ChildrenOf(worker.pid())) kill(trainer, SIGKILL);
        break;
      case 1:
        worker.Kill();
        break;
      default:
        worker.Signal(SIGINT);  // SIGINT does not wait for the save
    }
    worker.Wait(kPatience);
    cluster_.LaunchWorker("node-a", node_);
  }
  ExpectUndisturbedWeights();
}

TEST_P(Stop, ByCancelKeepsTheLastStep) {
  ASSERT_TRUE(WaitForTheMoment());
  cluster_.Cancel(run_);
  const v1::Run end = cluster_.WaitForEnd(run_);
  if (end.state() == v1::RUN_STATE_SUCCEEDED) return;  // it had already finished
  EXPECT_EQ(end.state(), v1::RUN_STATE_CANCELLED);
  EXPECT_TRUE(cluster_.KeptItsLastStep(run_));
  EXPECT_EQ(end.failures(), 0);
}

// The suite's name is a macro, because each program compiled from this file has its own name.
#define GP_INSTANTIATE_STOPS(suite) \
  INSTANTIATE_TEST_SUITE_P(         \
      suite, Stop,                  \
      ::testing::Values(StoppedGroup{1}, StoppedGroup{3}, StoppedGroup{2, RankDevice::kGpuZero1}))
GP_INSTANTIATE_STOPS(GP_FAULT_SUITE);

}  // namespace
}  // namespace gp::testing
