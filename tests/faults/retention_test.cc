// Old checkpoints are deleted as fast as new ones are sealed, also after a kill -9 of the
// coordinator.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/file.h"
#include "faults/fault_run.h"

namespace gp::testing {
namespace {

constexpr size_t kKeepLast = 2;
// Plus one that is being written, and one that is sealed before the oldest is deleted.
constexpr size_t kDirectoriesMax = kKeepLast + 2;
constexpr int64_t kMoreSaves = 200;
constexpr int kRounds = 2;

// A run that saves at every step until it is cancelled.
std::string RunThatSavesAlways() {
  std::string file = FaultRun(1, 10'000'000);
  const std::string rule = "checkpoint: {every: 10, keep_last: 2}";
  return file.replace(
      file.find(rule), rule.size(),
      fmt::format("checkpoint: {{every: 1, keep_last: {}, keep_best: false}}", kKeepLast));
}

class Retention : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteText(cluster_);
    cluster_.StartCoordinator();
    cluster_.StartWorker("node-a", {.slots = 1});
    run_ = cluster_.Submit(RunThatSavesAlways());
  }

  std::vector<std::string> Directories() const {
    const std::string run = JoinPath(cluster_.storage_root(), "runs/" + run_);
    auto names = ListDirectory(JoinPath(run, "checkpoints")).value_or(std::vector<std::string>());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::vector<std::string> Catalogue() {
    std::vector<std::string> names;
    for (const v1::Checkpoint& kept : cluster_.Checkpoints(run_)) {
      names.push_back(BaseNameOf(kept.directory()));
    }
    return names;
  }

  // Expects that the number of checkpoint directories repeatedly falls to the limit while the run
  // goes on saving.
  void ExpectThatFewAreLeft() {
    for (int round = 0; round < kRounds; ++round) {
      const int64_t saved = cluster_.Get(run_).latest_checkpoint_step();
      const v1::Run now = cluster_.WaitFor(run_, [&](const v1::Run& run) {
        return run.latest_checkpoint_step() >= saved + kMoreSaves;
      });
      EXPECT_TRUE(Eventually([&] { return Directories().size() <= kDirectoriesMax; }))
          << Directories().size() << " directories after step " << now.latest_checkpoint_step();
    }
  }

  Cluster cluster_;
  std::string run_;
};

// Case runs-and-service/42: after a restart, checkpoints were saved faster than old ones were
// retired, and accumulated.
TEST_F(Retention, KeepsUpAfterTheCoordinatorWasKilled) {
  ExpectThatFewAreLeft();
  cluster_.coordinator().Kill();
  cluster_.StartCoordinator();
  ExpectThatFewAreLeft();
  EXPECT_EQ(cluster_.Get(run_).failures(), 0) << "the run trained on";
  cluster_.Cancel(run_, /*now=*/true);
  cluster_.WaitForEnd(run_);
  EXPECT_TRUE(Eventually([&] { return Directories() == Catalogue(); }));
  EXPECT_EQ(Directories().size(), kKeepLast);
}

}  // namespace
}  // namespace gp::testing
