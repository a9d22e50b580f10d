// A disk without room for a checkpoint at seeded moments, especially at the end: the trainer keeps
// its state, the run reports what is missing, and no step is lost once there is room. The disk is
// full for one process only: its file size limit makes every write fail, which needs no privileges.
// Set GP_FAULT_SEED to replay.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>

#include "faults/fault_run.h"

namespace gp::testing {
namespace {

constexpr int kFullDiskSteps = 300;

// Limits the size of every file that the process writes from now on.
void LimitFiles(int pid, rlim_t bytes) {
  rlimit limit{};
  ASSERT_EQ(prlimit(pid, RLIMIT_FSIZE, nullptr, &limit), 0);
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  ASSERT_EQ(prlimit(pid, RLIMIT_FSIZE, &limit, nullptr), 0);
}

class FullDisk : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    std::cout << "seed " << seed_ << " (GP_FAULT_SEED)\n";
    WriteText(cluster_);
    cluster_.StartCoordinator();
    cluster_.StartWorker("node-a", {.slots = 4});
    run_ = cluster_.Submit(FaultRun(GetParam(), kFullDiskSteps));
    const int from = std::uniform_int_distribution<int>(1, kFullDiskSteps / 3)(random_);
    cluster_.WaitForStep(run_, from);
    trainers_ = ChildrenOf(cluster_.worker("node-a").pid());
    ASSERT_EQ(trainers_.size(), static_cast<size_t>(GetParam()));
    for (const int trainer : trainers_) LimitFiles(trainer, 1);
  }

  // Waits until all steps are done but there is no room for the checkpoint. The last step and the
  // reason are reported separately, in either order.
  v1::Run WaitUntilItWaits() {
    return cluster_.WaitFor(run_, [](const v1::Run& now) {
      const bool waits = now.reason().find(" waits: ") != std::string::npos;
      return IsTerminal(now.state()) || (waits && now.progress().step() == kFullDiskSteps);
    });
  }

  void MakeRoom() {
    for (const int trainer : trainers_) {
      if (Alive(trainer)) LimitFiles(trainer, RLIM_INFINITY);
    }
  }

  const uint64_t seed_ = FaultSeed();
  std::mt19937_64 random_{seed_};
  Cluster cluster_;
  std::string run_;
  std::vector<int> trainers_;
};

TEST_P(FullDisk, AtTheEndLosesNoStepOnceThereIsRoom) {
  const v1::Run waiting = WaitUntilItWaits();
  EXPECT_EQ(waiting.state(), v1::RUN_STATE_RUNNING);
  EXPECT_NE(waiting.reason().find("File too large"), std::string::npos) << waiting.reason();
  MakeRoom();
  const v1::Run end = cluster_.WaitForEnd(run_);
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_EQ(end.epoch(), 1u) << "the training was thrown away";
  EXPECT_EQ(end.latest_checkpoint_step(), kFullDiskSteps);
  EXPECT_TRUE(FinalWeights(cluster_, run_) == UndisturbedWeights(kFullDiskSteps));
}

TEST_P(FullDisk, DoesNotHoldUpACancelThatIsInAHurry) {
  WaitUntilItWaits();
  cluster_.Cancel(run_);
  EXPECT_EQ(cluster_.Get(run_).state(), v1::RUN_STATE_CANCELLING);
  cluster_.Cancel(run_, /*now=*/true);
  EXPECT_EQ(cluster_.WaitForEnd(run_).state(), v1::RUN_STATE_CANCELLED);
}

TEST_P(FullDisk, WhoIsStoppedMeanwhileSavesWhenThereIsRoomInTime) {
  WaitUntilItWaits();
  cluster_.worker("node-a").Signal(SIGTERM);
  MakeRoom();
  EXPECT_EQ(cluster_.worker("node-a").Wait(kPatience), 0);
  const v1::Run end = cluster_.WaitForEnd(run_);
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_EQ(end.epoch(), 1u);
  EXPECT_TRUE(FinalWeights(cluster_, run_) == UndisturbedWeights(kFullDiskSteps));
}

INSTANTIATE_TEST_SUITE_P(Ranks, FullDisk, ::testing::Values(1, 2));

}  // namespace
}  // namespace gp::testing
