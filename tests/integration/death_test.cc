// Processes are killed and restarted, with real daemons and the fake trainer.
#include <gtest/gtest.h>
#include <signal.h>

#include "base/file.h"
#include "integration/cluster.h"

namespace gp::testing {
namespace {

constexpr const char* kSlow = "fake-step-ms: '10'";
constexpr const char* kSaves = "checkpoint: {every: 20}\n";

// The newest step in the names of the checkpoint directories: how far training really got.
int64_t FurthestStep(const std::string& checkpoints) {
  int64_t step = 0;
  for (const std::string& name : ListDirectory(checkpoints).value_or(std::vector<std::string>{})) {
    step = std::max<int64_t>(step, std::atoll(name.substr(5, 8).c_str()));
  }
  return step;
}

class Death : public ::testing::Test {
 protected:
  explicit Death(const std::string& coordinator_config = "")
      : cluster_(
            {.trainer = std::getenv("GP_FAKE_TRAINER"), .coordinator_config = coordinator_config}) {
    EXPECT_TRUE(WriteFileAtomically(cluster_.directory() + "/text.txt", "some text\n").ok());
    cluster_.StartCoordinator();
    cluster_.StartWorker("node-a", {.slots = 2});
  }

  std::vector<int> Trainers() { return ChildrenOf(cluster_.worker("node-a").pid()); }

  Cluster cluster_;
};

// A lease short enough to wait for its end, and long enough for a busy machine.
class Silence : public Death {
 protected:
  Silence() : Death("agents: {lease: 4s}\n") {}
};

TEST_F(Death, AKilledTrainerCostsOneEpochAndResumesFromTheNewestCheckpoint) {
  const std::string id = cluster_.Submit(FakeRun(2, 200, kSlow, kSaves));
  cluster_.WaitFor(id, [](const v1::Run& run) { return run.latest_checkpoint_step() >= 20; });
  const auto trainers = Trainers();
  ASSERT_EQ(trainers.size(), 2u);
  kill(trainers[1], SIGKILL);
  const v1::Run run = cluster_.WaitForEnd(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED) << run.reason();
  EXPECT_EQ(run.epoch(), 2u);
  EXPECT_EQ(run.failures(), 1);
  bool resumed = false;
  for (const auto& line : cluster_.Lines(id)) {
    if (line.epoch() == 2 && line.rank() == 0 && line.text().find("started") != std::string::npos) {
      resumed = line.text().find("step=0") == std::string::npos;
    }
  }
  EXPECT_TRUE(resumed) << "epoch 2 began at step 0";
  for (const int pid : trainers) EXPECT_FALSE(Alive(pid));
}

TEST_F(Death, ATrainerThatAlwaysFailsIsGivenUpWithItsLastWords) {
  const std::string id = cluster_.Submit(
      FakeRun(1, 50, "fake-fail-at-step: '5', fake-fail-message: 'the loss exploded'", ""), "");
  v1::CancelRequest unused;
  const v1::Run run = cluster_.WaitFor(id, [](const v1::Run& now) { return now.failures() >= 2; });
  EXPECT_NE(run.reason().find("the loss exploded"), std::string::npos) << run.reason();
  cluster_.Cancel(id);
  EXPECT_EQ(cluster_.WaitForEnd(id).state(), v1::RUN_STATE_CANCELLED);
}

TEST_F(Death, AMistakeInTheDataIsNotRetried) {
  const std::string id = cluster_.Submit(
      FakeRun(2, 50,
              "fake-fail-at-step: '0', fake-exit-code: '2', fake-fail-message: 'no such "
              "file: missing.txt'"));
  const v1::Run run = cluster_.WaitForEnd(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(run.epoch(), 1u);
  EXPECT_NE(run.reason().find("no such file: missing.txt"), std::string::npos) << run.reason();
}

TEST_F(Death, AKilledAgentLeavesNoOrphanAndTheRunGoesOnWhenItReturns) {
  const std::string id = cluster_.Submit(FakeRun(2, 200, kSlow, kSaves));
  cluster_.WaitFor(id, [](const v1::Run& run) { return run.latest_checkpoint_step() >= 20; });
  const auto trainers = Trainers();
  ASSERT_EQ(trainers.size(), 2u);
  cluster_.worker("node-a").Kill();
  EXPECT_TRUE(Eventually([&] { return !Alive(trainers[0]) && !Alive(trainers[1]); }));
  cluster_.StartWorker("node-a", {.slots = 2});
  const v1::Run run = cluster_.WaitForEnd(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED) << run.reason();
  EXPECT_GE(run.epoch(), 2u);
}

TEST_F(Death, TrainingGoesOnWhileTheCoordinatorIsDown) {
  const std::string id = cluster_.Submit(FakeRun(2, 300, kSlow, kSaves));
  const int64_t before = cluster_.WaitForStep(id, 30).progress().step();
  const auto trainers = Trainers();
  cluster_.coordinator().Kill();
  // Waits for 60 more steps of 10 ms, which rank 0's checkpoints prove.
  const std::string checkpoints = cluster_.storage_root() + "/runs/" + id + "/checkpoints";
  EXPECT_TRUE(Eventually([&] { return FurthestStep(checkpoints) >= before + 60; }));
  cluster_.StartCoordinator();
  const v1::Run run = cluster_.WaitForEnd(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED) << run.reason();
  EXPECT_EQ(run.epoch(), 1u) << "the ranks were restarted";
  EXPECT_EQ(run.failures(), 0);
  ASSERT_TRUE(Eventually([&] { return cluster_.Points(id).size() >= 300; }));
  const auto points = cluster_.Points(id);
  EXPECT_EQ(points.size(), 300u) << "points were lost or doubled";
}

TEST_F(Silence, ACoordinatorThatSleepsLongerThanALeaseLosesNothing) {
  const std::string id = cluster_.Submit(FakeRun(2, 700, kSlow, kSaves));
  cluster_.WaitForStep(id, 20);
  const auto trainers = Trainers();
  cluster_.coordinator().Signal(SIGSTOP);
  // 480 steps of 10 ms take longer than the lease of 4 s.
  const std::string checkpoints = cluster_.storage_root() + "/runs/" + id + "/checkpoints";
  EXPECT_TRUE(Eventually([&] { return FurthestStep(checkpoints) >= 480; }));
  cluster_.coordinator().Signal(SIGCONT);
  const v1::Run run = cluster_.WaitForEnd(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED) << run.reason();
  EXPECT_EQ(run.epoch(), 1u) << "the sleeper took the agent for lost";
  ASSERT_TRUE(Eventually([&] { return cluster_.Points(id).size() >= 700; }));
}

TEST_F(Death, ATrainerThatDiesWhileTheCoordinatorIsDownIsReplacedAfterItsReturn) {
  const std::string id = cluster_.Submit(FakeRun(2, 200, kSlow, kSaves));
  cluster_.WaitFor(id, [](const v1::Run& run) { return run.latest_checkpoint_step() >= 20; });
  const auto trainers = Trainers();
  ASSERT_EQ(trainers.size(), 2u);
  cluster_.coordinator().Kill();
  kill(trainers[0], SIGKILL);
  cluster_.StartCoordinator();
  const v1::Run run = cluster_.WaitForEnd(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED) << run.reason();
  EXPECT_EQ(run.epoch(), 2u);
}

TEST_F(Silence, ASilentAgentLosesItsLeaseAndItsStaleTrainersWhenItWakes) {
  const std::string id = cluster_.Submit(FakeRun(2, 400, kSlow, kSaves));
  cluster_.WaitFor(id, [](const v1::Run& run) { return run.latest_checkpoint_step() >= 20; });
  const auto trainers = Trainers();
  cluster_.worker("node-a").Signal(SIGSTOP);
  cluster_.WaitFor(id, [](const v1::Run& run) { return run.failures() >= 1; });
  cluster_.StartWorker("node-b", {.slots = 2});
  cluster_.WaitFor(id, [](const v1::Run& run) {
    return run.state() == v1::RUN_STATE_RUNNING && run.epoch() >= 2;
  });
  cluster_.worker("node-a").Signal(SIGCONT);
  EXPECT_TRUE(Eventually([&] { return !Alive(trainers[0]) && !Alive(trainers[1]); }));
  const v1::Run run = cluster_.WaitForEnd(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED) << run.reason();
  EXPECT_EQ(run.epoch(), 2u);
}

TEST_F(Death, TwoHundredAcknowledgedSubmitsSurviveTheCoordinator) {
  std::map<std::string, std::string> ids;  // by request id
  const std::string run_file = FakeRun(2, 1'000'000, kSlow);
  for (int i = 0; i < 200; ++i) {
    const std::string request = "request-" + std::to_string(i);
    ids[request] = cluster_.Submit(run_file, request);
  }
  cluster_.coordinator().Kill();
  cluster_.StartCoordinator();
  for (const auto& [request, id] : ids) {
    EXPECT_EQ(cluster_.Get(id).run_id(), id);
    EXPECT_EQ(cluster_.Submit(run_file, request), id);
  }
}

TEST_F(Death, AMissingTrainerProgramFailsTheRunAndIsNamed) {
  Cluster cluster({.trainer = "/nonexistent/gp-trainer"});
  ASSERT_TRUE(WriteFileAtomically(cluster.directory() + "/text.txt", "some text\n").ok());
  cluster.StartCoordinator();
  cluster.StartWorker("node-a");
  const std::string id = cluster.Submit(FakeRun(1, 10));
  const v1::Run run = cluster.WaitForEnd(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_FAILED);
  EXPECT_NE(run.reason().find("/nonexistent/gp-trainer"), std::string::npos) << run.reason();
}

}  // namespace
}  // namespace gp::testing
