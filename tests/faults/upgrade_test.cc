// A rolling upgrade while a job runs: each node is drained and its agent restarted, then the
// coordinator is restarted. The run takes each step once and ends with the weights of an
// undisturbed run. The test prints gpctl's output along the way (docs/operations/upgrade.md).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <iostream>
#include <regex>
#include <set>

#include "base/file.h"
#include "faults/fault_run.h"
#include "integration/typed_gpctl.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kUpgradeSteps = 6000;
constexpr int kStepsBetween = 100;

class Upgrade : public ::testing::Test {
 protected:
  void Begin() {
    WriteText(cluster_);
    cluster_.StartCoordinator();
    cluster_.StartWorker("node-a", {.slots = 2});
    cluster_.StartWorker("node-b", {.slots = 2});
    // Checkpoints are so rare that a drain without a save would lose many steps.
    const std::string file =
        std::regex_replace(FaultRun(2, kUpgradeSteps), std::regex("every: 10,"), "every: 700,");
    run_ = cluster_.Submit(file);
    cluster_.WaitForStep(run_, kStepsBetween);
  }

  std::set<std::string> NodesOfRun() {
    std::set<std::string> names;
    const v1::Run run = cluster_.Get(run_);
    for (const auto& rank : run.placement()) names.insert(rank.node_name());
    return names;
  }

  void TrainOn() {
    const int64_t step = cluster_.WaitForState(run_, v1::RUN_STATE_RUNNING).progress().step();
    const v1::Run run = cluster_.WaitForStep(run_, step + kStepsBetween);
    ASSERT_EQ(run.state(), v1::RUN_STATE_RUNNING) << "the run is too short for this machine";
  }

  void UpgradeNode(const std::string& name) {
    EXPECT_EQ(TypeGpctl(cluster_, "workers drain " + name + " --reason upgrade").code, 0);
    EXPECT_FALSE(NodesOfRun().contains(name));
    std::cout << "$ systemctl restart gp-worker     # on " << name << "\n";
    cluster_.worker(name).Signal(SIGTERM);
    EXPECT_EQ(cluster_.worker(name).Wait(kPatience), 0);
    cluster_.StartWorker(name, {.slots = 2});
    EXPECT_EQ(TypeGpctl(cluster_, "workers uncordon " + name).code, 0);
  }

  // The size of rank 0's file of steps, which grows even while there is no coordinator.
  size_t RecordBytes() {
    const std::string path = cluster_.storage_root() + "/runs/" + run_ + "/metrics.jsonl";
    return ReadFile(path, size_t{1} << 30).value_or("").size();
  }

  // Restarts the coordinator while the run trains on `node`.
  void UpgradeCoordinator(const std::string& node) {
    const auto trainers = ChildrenOf(cluster_.worker(node).pid());
    std::cout << "$ systemctl restart gp-coordinator\n";
    cluster_.coordinator().Signal(SIGTERM);
    EXPECT_EQ(cluster_.coordinator().Wait(kPatience), 0);
    const size_t before = RecordBytes();
    EXPECT_TRUE(Eventually([&] { return RecordBytes() > before + 4000; })) << "training continues";
    cluster_.StartCoordinator();
    EXPECT_EQ(ChildrenOf(cluster_.worker(node).pid()), trainers);
  }

  // Expects that each "resumes from step N" equals the last step that the trainers reported.
  void ExpectNoStepLost(const v1::Run& end) {
    static const std::regex kFrom("resumes from step (\\d+) ");
    std::vector<std::string> resumed;
    for (const v1::RunEvent& event : cluster_.Events(run_)) {
      EXPECT_NE(event.kind(), "rank_failed") << event.reason();
      std::cout << fmt::format("{:18} {}\n", event.kind(), event.reason());
      std::smatch found;
      const std::string reason = event.reason();
      if (event.kind() != "requeued") continue;
      ASSERT_TRUE(std::regex_search(reason, found, kFrom)) << reason;
      resumed.push_back(found[1]);
    }
    EXPECT_EQ(resumed.size(), 2u) << "each drain moved the run once";
    std::set<std::string> last_steps;
    static const std::regex kStopped("training stopped.*step=(\\d+)");
    for (const auto& line : cluster_.Lines(run_)) {
      std::smatch found;
      const std::string text = line.text();
      if (std::regex_search(text, found, kStopped)) last_steps.insert(found[1]);
    }
    EXPECT_EQ(last_steps, std::set<std::string>(resumed.begin(), resumed.end()));
    EXPECT_EQ(end.failures(), 0);
    EXPECT_EQ(end.epoch(), 3u);
  }

  void ExpectEachStepOnce() {
    ASSERT_TRUE(Eventually([&] { return cluster_.Points(run_).size() >= kUpgradeSteps; }));
    const auto points = cluster_.Points(run_);
    ASSERT_EQ(points.size(), static_cast<size_t>(kUpgradeSteps));
    for (size_t i = 0; i < points.size(); ++i) {
      EXPECT_EQ(points[i].step(), static_cast<int64_t>(i) + 1);
    }
  }

  Cluster cluster_;
  std::string run_;
};

TEST_F(Upgrade, OfEveryDaemonUnderARunLosesNoStep) {
  Begin();
  const std::set<std::string> begun_on = NodesOfRun();
  ASSERT_EQ(begun_on.size(), 1u);
  const std::string first = *begun_on.begin();
  const std::string second = first == "node-a" ? "node-b" : "node-a";
  UpgradeNode(first);
  EXPECT_EQ(NodesOfRun(), std::set<std::string>{second});
  TrainOn();
  UpgradeNode(second);
  EXPECT_EQ(NodesOfRun(), std::set<std::string>{first});
  TrainOn();
  UpgradeCoordinator(first);
  TrainOn();
  EXPECT_THAT(TypeGpctl(cluster_, "workers list").output, HasSubstr("connected"));
  const v1::Run end = cluster_.WaitForEnd(run_);
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  ExpectNoStepLost(end);
  ExpectEachStepOnce();
  EXPECT_TRUE(FinalWeights(cluster_, run_) == UndisturbedWeights(kUpgradeSteps));
}

}  // namespace
}  // namespace gp::testing
