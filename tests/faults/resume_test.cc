// A run restarts with a damaged checkpoint, or on a node that cannot compute as before. The problem
// is reported, and the run ends with the weights of an undisturbed run.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "faults/fault_run.h"

namespace gp::testing {
namespace {

constexpr int kResumedSteps = 400;

class Resume : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteText(cluster_);
    cluster_.StartCoordinator();
    cluster_.StartWorker("node-a", {.slots = 1});
    run_ = cluster_.Submit(FaultRun(1, kResumedSteps));
    cluster_.WaitFor(run_, [](const v1::Run& now) { return now.latest_checkpoint_step() >= 30; });
    cluster_.worker("node-a").Kill();
    // Once it is disconnected, the coordinator has read all of the agent's messages and seals no
    // more checkpoints.
    ASSERT_TRUE(Eventually([&] { return !cluster_.Nodes().at(0).connected(); }));
  }

  bool HasEvent(const std::string& words) {
    const auto events = cluster_.Events(run_);
    return std::any_of(events.begin(), events.end(), [&](const v1::RunEvent& event) {
      return event.reason().find(words) != std::string::npos;
    });
  }

  // Starts a node whose trainers first run `command` in their own mount namespace.
  void StartWorkerBehind(const std::string& command) {
    const std::string program = JoinPath(cluster_.directory(), "trainer-behind-a-mount");
    const std::string script =
        fmt::format("#!/bin/sh\nexec unshare --mount sh -c '{}; exec \"$0\" \"$@\"' {} \"$@\"\n",
                    command, JoinPath(std::getenv("GP_BIN"), "gp-trainer"));
    ASSERT_TRUE(WriteFileAtomically(program, script).ok());
    ASSERT_EQ(chmod(program.c_str(), 0755), 0);
    cluster_.StartWorker(
        "node-bad", {.slots = 1, .config = fmt::format("trainer: {{program: {}}}\n", program)});
  }

  void ExpectUndisturbedEnd() {
    const v1::Run end = cluster_.WaitForEnd(run_);
    EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
    EXPECT_TRUE(FinalWeights(cluster_, run_) == UndisturbedWeights(kResumedSteps));
  }

  Cluster cluster_;
  std::string run_;
};

TEST_F(Resume, FromADamagedCheckpointGoesBackToTheOneBeforeIt) {
  const auto checkpoints = cluster_.Checkpoints(run_);
  ASSERT_GE(checkpoints.size(), 2u);
  const std::string path = checkpoints.back().directory() + "/optimizer.safetensors";
  std::string bytes = *ReadFile(path);
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
  cluster_.StartWorker("node-a", {.slots = 1});
  ExpectUndisturbedEnd();
  EXPECT_TRUE(HasEvent("optimizer.safetensors"));
  EXPECT_TRUE(HasEvent(fmt::format("going back to the checkpoint of step {}",
                                   checkpoints[checkpoints.size() - 2].step())));
  EXPECT_TRUE(FileExists(checkpoints.back().directory() + ".quarantined"));
  EXPECT_TRUE(FileExists(checkpoints.back().directory() + "/model.safetensors"))
      << "nothing is thrown away";
}

// A checkpoint that looks different on one node: one byte of a file differs, or the file is
// missing.
class ResumeBehindABadMount : public Resume, public ::testing::WithParamInterface<const char*> {};

TEST_P(ResumeBehindABadMount, TheNodesWordCostsNoCheckpointAndTheRunGoesOnElsewhere) {
  if (std::system("unshare --mount mount -t tmpfs none /tmp") != 0) {
    GTEST_SKIP() << "a mount that one node alone sees needs root and unshare";
  }
  const v1::Checkpoint newest = cluster_.Checkpoints(run_).back();
  const std::string bad = JoinPath(cluster_.directory(), "bad.safetensors");
  std::string bytes = *ReadFile(newest.directory() + "/model.safetensors");
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(bad, bytes).ok());
  StartWorkerBehind(fmt::format(fmt::runtime(GetParam()), fmt::arg("directory", newest.directory()),
                                fmt::arg("bad", bad)));
  EXPECT_TRUE(Eventually([&] { return HasEvent("the coordinator read the checkpoint"); }));
  cluster_.StartWorker("node-a", {.slots = 1});
  EXPECT_TRUE(Eventually([&] {
    return HasEvent(fmt::format("starting on node-a:cpu-0 from step {}", newest.step()));
  })) << "the node that can read it takes the run up";
  ExpectUndisturbedEnd();
  EXPECT_FALSE(HasEvent("going back"));
  EXPECT_FALSE(FileExists(newest.directory() + ".quarantined"));
}

INSTANTIATE_TEST_SUITE_P(Faults, ResumeBehindABadMount,
                         ::testing::Values("mount --bind {bad} {directory}/model.safetensors",
                                           "mount -t tmpfs none {directory}"));

TEST_F(Resume, OnANodeWithoutItsKernelsIsRefusedThere) {
  if (cluster_.Get(run_).choices().isa() == "generic") GTEST_SKIP() << "there is nothing slower";
  cluster_.StartWorker("node-b", {.slots = 1, .environment = {"GP_ISA_MAX=generic"}});
  cluster_.WaitFor(run_, [](const v1::Run& now) {
    return now.reason().find("node node-b is refused") != std::string::npos;
  });
  cluster_.StartWorker("node-a", {.slots = 1});
  ExpectUndisturbedEnd();
}

}  // namespace
}  // namespace gp::testing
