// kill -9 of any process at seeded random moments: trainers of any rank, the agent and the
// coordinator, during start, training, saving and finishing, on CPUs and on simulated GPUs. The run
// finishes by itself, and its weights are byte-identical to those of an undisturbed run. Set
// GP_FAULT_SEED to replay.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "faults/fault_run.h"

namespace gp::testing {
namespace {

using std::chrono::milliseconds;

constexpr int kKilledSteps = 200;
constexpr int kKills = 8;  // for each number of ranks
// Half of the kills wait for some steps; the others come soon after the previous kill, while
// everything is still starting.
constexpr int kStepsMax = 30;
constexpr int kPauseMsMax = 700;

enum class Victim { kTrainer, kAgent, kCoordinator };

class Killer {
 public:
  // `node`: the arguments for restarting the agent after a kill.
  Killer(Cluster& cluster, WorkerSetup node, uint64_t seed)
      : cluster_(cluster), node_(std::move(node)), random_(seed) {}

  // Waits for the next kill's moment; false if the run ended first.
  bool WaitForTheMoment(const std::string& run) {
    const bool by_steps = Draw(0, 1) == 1;
    const auto pause = milliseconds(by_steps ? 10'000 : Draw(0, kPauseMsMax));
    const auto strike_at = std::chrono::steady_clock::now() + pause;
    const int64_t step = cluster_.Get(run).progress().step() + Draw(1, kStepsMax);
    v1::Run now;
    Eventually(
        [&] {
          now = cluster_.Get(run);
          return IsTerminal(now.state()) || std::chrono::steady_clock::now() >= strike_at ||
                 (by_steps && now.progress().step() >= step);
        },
        pause);
    return !IsTerminal(now.state());
  }

  // Kills a random process; false if there was none of the chosen kind.
  bool Strike() {
    switch (static_cast<Victim>(Draw(0, 2))) {
      case Victim::kTrainer:
        return KillTrainer();
      case Victim::kAgent:
        cluster_.worker("node-a").Kill();
        cluster_.LaunchWorker("node-a", node_);
        std::cout << "  killed the agent\n";
        return true;
      case Victim::kCoordinator:
        cluster_.coordinator().Kill();
        cluster_.StartCoordinator();
        std::cout << "  killed the coordinator\n";
        return true;
    }
    return false;
  }

 private:
  bool KillTrainer() {
    const auto trainers = ChildrenOf(cluster_.worker("node-a").pid());
    if (trainers.empty()) return false;
    const auto chosen = static_cast<size_t>(Draw(0, static_cast<int>(trainers.size()) - 1));
    kill(trainers[chosen], SIGKILL);
    std::cout << "  killed trainer " << chosen << " of " << trainers.size() << "\n";
    return true;
  }

  int Draw(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  Cluster& cluster_;
  const WorkerSetup node_;
  std::mt19937_64 random_;
};

struct Group {
  int ranks = 1;
  RankDevice device = RankDevice::kCpu;
  bool in_place = false;  // stability.recovery
};

void PrintTo(const Group& group, std::ostream* out) {
  *out << group.ranks << (group.device == RankDevice::kCpu ? "_on_CPUs" : "_on_GPUs")
       << (group.device == RankDevice::kGpuZero1 ? "_zero1" : "")
       << (group.in_place ? "_in_place" : "");
}

class Kill : public ::testing::TestWithParam<Group> {};

TEST_P(Kill, OfAnyProcessAtAnyMomentLeavesTheWeightsAsTheyWouldBe) {
  const auto [workers, device, in_place] = GetParam();
  const std::string more = in_place ? "stability: {recovery: in_place}\n" : "";
  const uint64_t seed = FaultSeed() + static_cast<uint64_t>(workers);
  std::cout << "seed " << seed << " (GP_FAULT_SEED=" << seed - static_cast<uint64_t>(workers)
            << ")\n";
  Cluster cluster;
  WriteText(cluster);
  cluster.StartCoordinator();
  const WorkerSetup node = NodeWith(cluster, 4, device);
  cluster.StartWorker("node-a", node);
  Killer killer(cluster, node, seed);
  // If a run ends before all kills were made, the next run continues them.
  for (int kills = 0; kills < kKills && !HasFailure();) {
    const std::string run = cluster.Submit(FaultRun(workers, kKilledSteps, device) + more);
    while (kills < kKills && killer.WaitForTheMoment(run)) kills += killer.Strike() ? 1 : 0;
    const v1::Run end = cluster.WaitForEnd(run);
    EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
    std::cout << "  " << kills << " kills so far; the run took " << end.epoch() << " epochs\n";
    EXPECT_TRUE(FinalWeights(cluster, run) == UndisturbedWeights(kKilledSteps, device))
        << "weights differ from the undisturbed run's; seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Cpus, Kill,
                         ::testing::Values(Group{1}, Group{2}, Group{4},
                                           Group{4, RankDevice::kCpu, /*in_place=*/true}));
INSTANTIATE_TEST_SUITE_P(Gpus, Kill,
                         ::testing::Values(Group{1, RankDevice::kGpu}, Group{2, RankDevice::kGpu},
                                           Group{4, RankDevice::kGpuZero1}));

TEST(Ranks, AnyNumberGivesTheSameWeights) {
  for (const int workers : {2, 4}) {
    Cluster cluster;
    WriteText(cluster);
    cluster.StartCoordinator();
    cluster.StartWorker("node-a", {.slots = workers});
    const std::string run = cluster.Submit(FaultRun(workers, kKilledSteps));
    const v1::Run end = cluster.WaitForEnd(run);
    EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
    EXPECT_TRUE(FinalWeights(cluster, run) == UndisturbedWeights(kKilledSteps))
        << workers << " ranks";
  }
}

// The sequence number of the run's first event of this kind.
uint64_t SequenceOf(Cluster& cluster, const std::string& run, const std::string& kind) {
  for (const v1::RunEvent& event : cluster.Events(run)) {
    if (event.kind() == kind) return event.sequence();
  }
  ADD_FAILURE() << "run " << run << " has no event '" << kind << "'";
  return 0;
}

TEST(Ranks, TwoRunsOfTwoRanksAtOnceDoNotDisturbEachOther) {
  Cluster cluster;
  WriteText(cluster);
  cluster.StartCoordinator();
  cluster.StartWorker("node-a", {.slots = 4});
  const std::string first = cluster.Submit(FaultRun(2, kKilledSteps));
  const std::string second = cluster.Submit(FaultRun(2, kKilledSteps));
  for (const std::string& run : {first, second}) {
    const v1::Run end = cluster.WaitForEnd(run);
    EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
    EXPECT_EQ(end.epoch(), 1u) << end.reason();
    EXPECT_TRUE(FinalWeights(cluster, run) == UndisturbedWeights(kKilledSteps));
  }
  EXPECT_LT(SequenceOf(cluster, second, "placed"), SequenceOf(cluster, first, "ended"))
      << "they did not run together";
}

}  // namespace
}  // namespace gp::testing
