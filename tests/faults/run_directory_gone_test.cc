// A run's directory is deleted, or deleted and created again, while the run trains. A stop still
// loses no step, and the run continues afterwards.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

#include "faults/fault_run.h"
#include "lib/base/eventually.h"

namespace gp::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kStepsWithoutEnd = 10'000'000;

// Retries, because the rank may add files while they are deleted.
void Delete(const fs::path& directory) {
  ASSERT_TRUE(Eventually([&] {
    std::error_code error;
    fs::remove_all(directory, error);
    return !fs::exists(directory);
  }));
}

void MakeAgain(const fs::path& directory) {
  Delete(directory);
  fs::create_directories(directory);
}

// Deletes the directory and puts back a copy made while the run was writing to it: the copied
// checkpoints may be old, and one may be incomplete.
void RestoreFromBackup(const fs::path& directory) {
  const fs::path backup = fs::path(directory) += "-backup";
  std::error_code error;
  fs::copy(directory, backup, fs::copy_options::recursive, error);
  Delete(directory);
  fs::rename(backup, directory);
}

void ReplaceCheckpoints(const fs::path& directory) {
  Delete(directory / "checkpoints");
  fs::create_directories(directory / "checkpoints");
}

void MoveAway(const fs::path& directory) { fs::rename(directory, fs::path(directory) += "-aside"); }

struct Loss {
  const char* name;
  std::function<void(const fs::path& directory)> inflict;
};

void PrintTo(const Loss& loss, std::ostream* out) { *out << loss.name; }

class GoneRunDirectory : public ::testing::Test {
 protected:
  GoneRunDirectory() {
    WriteText(cluster_);
    cluster_.StartCoordinator();
    cluster_.StartWorker("node-a", {.slots = 2});
    run_ = cluster_.Submit(FaultRun(2, kStepsWithoutEnd));
    directory_ =
        cluster_
            .WaitFor(run_, [](const v1::Run& now) { return now.latest_checkpoint_step() >= 10; })
            .run_directory();
  }

  int64_t Step() { return cluster_.Get(run_).progress().step(); }

  void StopTheNode() {
    cluster_.worker("node-a").Signal(SIGTERM);
    EXPECT_EQ(cluster_.worker("node-a").Wait(kPatience), 0);
    EXPECT_TRUE(cluster_.KeptItsLastStep(run_)) << cluster_.Get(run_).reason();
  }

  void ExpectItGoesOnAfter(int64_t step) {
    cluster_.StartWorker("node-a", {.slots = 2});
    const v1::Run now = cluster_.WaitForStep(run_, step + 1);
    EXPECT_EQ(now.failures(), 0) << now.reason();
    const std::string from = fmt::format("group joined rank=0 ranks=2 epoch=2 step={}", step);
    const auto lines = cluster_.Lines(run_);
    EXPECT_TRUE(std::any_of(
        lines.begin(), lines.end(),
        [&](const v1::LogLine& line) { return line.text().find(from) != std::string::npos; }))
        << "no line says: " << from;
  }

  void ExpectCheckpointsAreThere() {
    const auto checkpoints = cluster_.Checkpoints(run_);
    ASSERT_FALSE(checkpoints.empty());
    EXPECT_TRUE(fs::exists(checkpoints.back().directory() + "/manifest.json"));
    EXPECT_TRUE(fs::exists(directory_ / "metrics.jsonl"));
  }

  Cluster cluster_;
  std::string run_;
  fs::path directory_;
};

class RunDirectoryGone : public GoneRunDirectory, public ::testing::WithParamInterface<Loss> {};

TEST_P(RunDirectoryGone, LosesNoStepAtAStopAndTheRunGoesOn) {
  GetParam().inflict(directory_);
  StopTheNode();
  ExpectItGoesOnAfter(cluster_.Get(run_).latest_checkpoint_step());
  cluster_.Cancel(run_);
  EXPECT_EQ(cluster_.WaitForEnd(run_).state(), v1::RUN_STATE_CANCELLED);
  EXPECT_TRUE(cluster_.KeptItsLastStep(run_));
  ExpectCheckpointsAreThere();
}

INSTANTIATE_TEST_SUITE_P(Ways, RunDirectoryGone,
                         ::testing::Values(Loss{"Deleted", Delete}, Loss{"MadeAgain", MakeAgain},
                                           Loss{"Restored", RestoreFromBackup},
                                           Loss{"CheckpointsReplaced", ReplaceCheckpoints},
                                           Loss{"MovedAway", MoveAway}),
                         [](const auto& tested) { return std::string(tested.param.name); });

using RunDirectoryLost = RunDirectoryGone;

TEST_P(RunDirectoryLost, SavesGoOnInANewDirectoryAndTheRunSaysSo) {
  GetParam().inflict(directory_);
  const int64_t step = Step();
  const v1::Run now = cluster_.WaitFor(run_, [&](const v1::Run& run) {
    return run.latest_checkpoint_step() > step &&
           run.progress().warning().find("a new directory") != std::string::npos;
  });
  EXPECT_NE(now.progress().warning().find(directory_), std::string::npos);
  EXPECT_EQ(now.failures(), 0) << now.reason();
  cluster_.Cancel(run_);
  EXPECT_EQ(cluster_.WaitForEnd(run_).state(), v1::RUN_STATE_CANCELLED);
  EXPECT_TRUE(cluster_.KeptItsLastStep(run_));
}

INSTANTIATE_TEST_SUITE_P(Ways, RunDirectoryLost,
                         ::testing::Values(Loss{"Deleted", Delete}, Loss{"MadeAgain", MakeAgain},
                                           Loss{"Restored", RestoreFromBackup}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_F(GoneRunDirectory, WhileTheRunIsStoppedIsNamedAndTheRunGoesOnWhenItsCheckpointsAreBack) {
  StopTheNode();
  const int64_t step = cluster_.Get(run_).latest_checkpoint_step();
  const fs::path aside = fs::path(directory_) += "-aside";
  MoveAway(directory_);
  cluster_.StartWorker("node-a", {.slots = 2});
  cluster_.WaitFor(run_, [&](const v1::Run& now) {
    const std::string gone = (directory_ / "checkpoints was deleted or moved").string();
    return now.reason().find(gone) != std::string::npos;
  });
  fs::rename(aside / "checkpoints", directory_ / "checkpoints");
  cluster_.WaitForStep(run_, step + 1);
  cluster_.Cancel(run_);
  EXPECT_EQ(cluster_.WaitForEnd(run_).state(), v1::RUN_STATE_CANCELLED);
}

}  // namespace
}  // namespace gp::testing
