// Ranks that hang: a trainer that is stopped (SIGSTOP) at seeded random moments, and a training
// thread that computes forever in each phase. The hung rank is named with its phase within its
// limit and half a second, and killed; the run goes on from its newest checkpoint and ends with the
// weights of an undisturbed run. Machines that sleep or are busy hang no rank. Set GP_FAULT_SEED to
// replay, and GP_FAULT_BUSY_STEPS for a longer run on a busy machine.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <regex>
#include <thread>

#include "base/file.h"
#include "base/machine/usable_cores.h"
#include "faults/fault_run.h"

namespace gp::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kHungSteps = 200;
constexpr int kStops = 3;  // for each number of ranks
constexpr double kReaction = 0.5;

// A run with everything that a rank does besides its steps.
std::string BusyRun(int workers, int steps) {
  return FaultRun(workers, steps) +
         "eval: {every: 4, batches: 2}\n"
         "sample: {every: 6, max_tokens: 4}\n";
}

std::vector<std::string> Failures(Cluster& cluster, const std::string& run) {
  std::vector<std::string> failures;
  for (const v1::RunEvent& event : cluster.Events(run)) {
    if (event.kind() == "rank_failed") failures.push_back(event.reason());
  }
  return failures;
}

// "stopped running in phase forward: nothing was heard from it for 2.1 s (limit 2.0 s)".
void ExpectInTime(const std::string& reason) {
  static const std::regex kTimes("for ([0-9.]+) s \\(limit ([0-9.]+) s\\)");
  std::smatch times;
  ASSERT_TRUE(std::regex_search(reason, times, kTimes)) << reason;
  EXPECT_LE(std::stod(times[1]), std::stod(times[2]) + kReaction) << reason;
}

// The run ends, with the result of an undisturbed one.
void ExpectTheSameWeights(Cluster& cluster, const std::string& run, int steps) {
  const v1::Run end = cluster.WaitForEnd(run);
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_TRUE(FinalWeights(cluster, run) == UndisturbedWeights(steps));
}

class StoppedRank : public ::testing::TestWithParam<int> {};

TEST_P(StoppedRank, IsNamedAndReplacedAtAnyMoment) {
  const int ranks = GetParam();
  const uint64_t seed = FaultSeed();
  std::cout << "GP_FAULT_SEED=" << seed << "\n";
  std::mt19937_64 random(seed + static_cast<uint64_t>(ranks));
  const auto draw = [&random](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  Cluster cluster;
  WriteText(cluster);
  cluster.StartCoordinator();
  cluster.StartWorker("node-a", {.slots = ranks});
  const std::string run = cluster.Submit(BusyRun(ranks, kHungSteps));
  for (size_t stops = 1; stops <= kStops; ++stops) {
    // By then the newest process has completed every phase once, so the limits are short.
    cluster.WaitForStep(run, cluster.Get(run).progress().step() + draw(12, 30));
    std::this_thread::sleep_for(
        std::chrono::microseconds(draw(0, 20'000)));  // any moment of a step
    const auto trainers = ChildrenOf(cluster.worker("node-a").pid());
    if (trainers.empty() || IsTerminal(cluster.Get(run).state())) break;
    const auto chosen = static_cast<size_t>(draw(0, static_cast<int>(trainers.size()) - 1));
    kill(trainers[chosen], SIGSTOP);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(Eventually([&] { return Failures(cluster, run).size() >= stops; }));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (HasFailure()) break;
    const std::string reason = Failures(cluster, run).back();
    std::cout << "  after " << took.count() << " s: " << reason << "\n";
    EXPECT_NE(reason.find("on node node-a stopped running in phase"), std::string::npos) << reason;
    ExpectInTime(reason);
    EXPECT_FALSE(Alive(trainers[chosen]));
  }
  ExpectTheSameWeights(cluster, run, kHungSteps);
}

INSTANTIATE_TEST_SUITE_P(Ranks, StoppedRank, ::testing::Values(1, 4));

struct Spin {
  int ranks = 1;
  std::string place;  // a failpoint
  int passage = 1;    // late enough that the phase was completed before
  std::string phase;
};

void PrintTo(const Spin& spin, std::ostream* out) {
  *out << spin.place << " on " << spin.ranks << (spin.ranks == 1 ? " rank" : " ranks");
}

class SpinningRank : public ::testing::TestWithParam<Spin> {};

TEST_P(SpinningRank, IsNamedAndReplaced) {
  const Spin& spin = GetParam();
  Cluster cluster;
  WriteText(cluster);
  cluster.StartCoordinator();
  const std::string run = cluster.Submit(BusyRun(spin.ranks, kHungSteps));
  const std::string marker = JoinPath(cluster.storage_root(), "runs/" + run + "/hung");
  cluster.StartWorker(
      "node-a", {.slots = spin.ranks,
                 .environment = {fmt::format("GP_FAILPOINT={}:hang@{}", spin.place, spin.passage),
                                 "GP_FAILPOINT_ONCE=" + marker},
                 .config = "trainer: {environment: [GP_FAILPOINT, GP_FAILPOINT_ONCE]}\n"});
  ExpectTheSameWeights(cluster, run, kHungSteps);
  const auto failures = Failures(cluster, run);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_NE(failures[0].find("on node node-a hung in phase " + spin.phase), std::string::npos)
      << failures[0];
  ExpectInTime(failures[0]);
}

INSTANTIATE_TEST_SUITE_P(Phases, SpinningRank,
                         ::testing::Values(Spin{1, "step.backward", 200, "backward"},
                                           Spin{1, "trainer.evaluation", 3, "evaluation"},
                                           Spin{1, "trainer.save", 3, "save"},
                                           Spin{4, "step.forward", 50, "forward"},
                                           Spin{4, "step.backward", 50, "backward"},
                                           Spin{4, "step.all_reduce", 30, "all-reduce"},
                                           Spin{4, "step.optimizer", 30, "optimizer"},
                                           Spin{4, "trainer.evaluation", 3, "evaluation"},
                                           Spin{4, "trainer.sample", 3, "sampling"},
                                           Spin{4, "trainer.save", 3, "save"}));

// Everything is stopped together, as when a laptop sleeps, and goes on later.
TEST(SleepingMachine, HangsNoRank) {
  Cluster cluster;
  WriteText(cluster);
  cluster.StartCoordinator();
  cluster.StartWorker("node-a", {.slots = 2});
  const std::string run = cluster.Submit(BusyRun(2, kHungSteps));
  cluster.WaitForStep(run, 20);
  std::vector<int> processes = ChildrenOf(cluster.worker("node-a").pid());
  processes.push_back(cluster.worker("node-a").pid());
  processes.push_back(cluster.coordinator().pid());
  for (const int signal : {SIGSTOP, SIGCONT}) {
    for (const int process : processes) kill(process, signal);
    if (signal == SIGSTOP) std::this_thread::sleep_for(seconds(5));  // longer than the limit
  }
  ExpectTheSameWeights(cluster, run, kHungSteps);
  EXPECT_EQ(cluster.Get(run).failures(), 0);
  EXPECT_EQ(cluster.Get(run).epoch(), 1u);
}

// Threads that compute, three for each core.
class Load {
 public:
  Load() {
    for (size_t i = 0; i < 3 * static_cast<size_t>(CountUsableCores()); ++i) {
      threads_.emplace_back([](const std::stop_token& stop) {
        while (!stop.stop_requested()) continue;
      });
    }
  }

 private:
  std::vector<std::jthread> threads_;
};

TEST(BusyMachine, HangsNoRank) {
  const char* given = std::getenv("GP_FAULT_BUSY_STEPS");
  const int steps = given == nullptr ? 3500 : std::atoi(given);
  Cluster cluster;
  WriteText(cluster);
  cluster.StartCoordinator();
  cluster.StartWorker("node-a", {.slots = 4});
  const Load load;
  const std::string run = cluster.Submit(BusyRun(4, steps));
  const v1::Run end = cluster.WaitFor(
      run, [](const v1::Run& now) { return IsTerminal(now.state()); }, std::chrono::hours(6));
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_EQ(end.failures(), 0) << end.reason();
}

}  // namespace
}  // namespace gp::testing
