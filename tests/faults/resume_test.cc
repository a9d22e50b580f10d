// What a run finds when it is started again: a damaged checkpoint, or a node that cannot compute as
// it began. Either is told in words, and the run ends with the weights of the run without faults.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "faults/fault_run.h"

namespace gp::testing {
namespace {

constexpr int kSteps = 400;

class Resume : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteText(cluster_);
    cluster_.StartCoordinator();
    cluster_.StartWorker("node-a", {.slots = 1});
    run_ = cluster_.Submit(FaultRun(1, kSteps));
    cluster_.WaitFor(run_, [](const v1::Run& now) { return now.latest_checkpoint_step() >= 30; });
    cluster_.worker("node-a").Kill();
  }

  bool HasEvent(const std::string& words) {
    const auto events = cluster_.Events(run_);
    return std::any_of(events.begin(), events.end(), [&](const v1::RunEvent& event) {
      return event.reason().find(words) != std::string::npos;
    });
  }

  void ExpectUndisturbedEnd() {
    const v1::Run end = cluster_.WaitForEnd(run_);
    EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
    EXPECT_TRUE(FinalWeights(cluster_, run_) == UndisturbedWeights(kSteps));
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
}

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
