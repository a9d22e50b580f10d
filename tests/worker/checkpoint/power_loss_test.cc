// After a power loss every existing checkpoint is complete, and the previous one exists until a new
// one does.
#include <gtest/gtest.h>

#include <numeric>

#include "fakes/synced_disk.h"
#include "formats/checkpoint_directory.h"
#include "lib/base/temporary_directory.h"
#include "storage/local_storage.h"
#include "worker/checkpoint/checkpoint_writer.h"

namespace gp::engine {
namespace {

using gp::testing::SyncedDisk;

constexpr auto kLong = std::chrono::seconds(60);

class CheckpointPowerLoss : public ::testing::Test {
 protected:
  CheckpointPowerLoss() {
    identity_.run_id = "run";
    identity_.incarnation = "i";
    identity_.shape = {.layers = 1,
                       .heads = 1,
                       .channels = 4,
                       .context = 4,
                       .vocabulary = 5,
                       .vocabulary_padded = 5};
    identity_.tokenizer = R"({"kind":"bytes"})";
    state_.resize(static_cast<size_t>(runspec::MakeParameterLayout(identity_.shape).total_count));
    std::iota(state_.begin(), state_.end(), 0.0f);
  }

  void Save(int64_t step) {
    CheckpointWriter writer(std::make_shared<LocalStorage>(), directory_.File("checkpoints"),
                            identity_, {});
    ASSERT_TRUE(writer
                    .Start({.step = step,
                            .parameters = state_,
                            .first_moment = state_,
                            .second_moment = state_})
                    .ok());
    const auto saved = writer.Wait(kLong);
    ASSERT_TRUE(saved.ok()) << saved.status();
  }

  // The step of the newest checkpoint after a power loss, which must be complete; -1 if there is
  // none.
  static int64_t StepLeft(const SyncedDisk::Image& left) {
    const TemporaryDirectory after;
    SyncedDisk::Restore(left, after.path());
    const auto newest = formats::FindNewestCheckpoint(LocalStorage(), after.File("checkpoints"));
    EXPECT_TRUE(newest.ok()) << newest.status();
    if (!newest.ok() || !*newest) return -1;
    const auto manifest = formats::VerifyCheckpoint(**newest);
    EXPECT_TRUE(manifest.ok()) << manifest.status();
    return manifest.ok() ? manifest->step : -1;
  }

  CheckpointIdentity identity_;
  std::vector<float> state_;
  TemporaryDirectory directory_;
  SyncedDisk disk_{directory_.path()};
};

TEST_F(CheckpointPowerLoss, WhatWasReportedAsWrittenIsThere) {
  EXPECT_EQ(StepLeft(disk_.Left()), -1);
  Save(1);
  EXPECT_EQ(StepLeft(disk_.Left()), 1);
  Save(2);
  EXPECT_EQ(StepLeft(disk_.Left()), 2);
}

TEST_F(CheckpointPowerLoss, AtEveryMomentOfASaveTheNewestCheckpointIsWhole) {
  Save(1);
  std::vector<SyncedDisk::Image> moments;
  disk_.set_after_sync([&](const SyncedDisk::Image& left) { moments.push_back(left); });
  Save(2);
  disk_.set_after_sync(nullptr);
  ASSERT_GE(moments.size(), 4u) << "three files and a manifest";
  int64_t before = 1;
  for (const SyncedDisk::Image& left : moments) {
    const int64_t step = StepLeft(left);
    EXPECT_GE(step, before);
    before = step;
  }
  EXPECT_EQ(before, 2);
}

TEST_F(CheckpointPowerLoss, ADamagedOneStaysInQuarantine) {
  Save(1);
  Save(2);
  const auto newest = formats::FindNewestCheckpoint(LocalStorage(), directory_.File("checkpoints"));
  ASSERT_TRUE(newest.ok() && *newest);
  ASSERT_TRUE(formats::Quarantine(LocalStorage(), **newest, "a digest differs").ok());
  EXPECT_EQ(StepLeft(disk_.Left()), 1);
}

}  // namespace
}  // namespace gp::engine
