// Storage problems: full, read-only, or damaged. Each one is reported, loses no sealed checkpoint,
// and is over when the storage works again.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/random_id.h"
#include "faults/fault_run.h"
#include "lib/base/eventually.h"
#include "lib/base/small_disk.h"

namespace gp::testing {
namespace {

std::string NewDiskPath() { return ::testing::TempDir() + "gp-disk-" + RandomId(8); }

class Storage : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!disk_.mounted()) {
      GTEST_SKIP() << "mounting a small tmpfs needs root: " << disk_.why_not();
    }
    cluster_.emplace(ClusterOptions{.storage_root = disk_.path()});
    WriteText(*cluster_);
    cluster_->StartCoordinator();
  }
  void TearDown() override { cluster_.reset(); }

  SmallDisk disk_{NewDiskPath(), "96m"};
  std::optional<Cluster> cluster_;
};

TEST_F(Storage, AFullDiskCostsCheckpointsButNoSealedOneAndTheRunEndsWhenThereIsRoom) {
  cluster_->StartWorker("node-a", {.slots = 2});
  const std::string run = cluster_->Submit(FaultRun(2, 2000));
  cluster_->WaitFor(run, [](const v1::Run& now) { return now.latest_checkpoint_step() >= 10; });
  disk_.Fill();
  const int64_t sealed = cluster_->Get(run).latest_checkpoint_step();
  const int64_t step = cluster_->Get(run).progress().step();
  cluster_->WaitFor(run, [&](const v1::Run& now) {
    const bool warned = now.progress().warning().find("No space left") != std::string::npos;
    return IsTerminal(now.state()) || (now.progress().step() >= step + 100 && warned);
  });
  EXPECT_FALSE(IsTerminal(cluster_->Get(run).state())) << "a full disk must not stop training";
  const std::string counted = "gp_checkpoint_failures_total{run=\"" + run + "\"} ";
  const std::string metrics = cluster_->Metrics("node-a");
  EXPECT_NE(metrics.find(counted), std::string::npos) << metrics;
  EXPECT_EQ(metrics.find(counted + "0\n"), std::string::npos) << "no failed save was counted";
  EXPECT_GE(cluster_->Get(run).latest_checkpoint_step(), sealed);
  const auto checkpoints = cluster_->Checkpoints(run);
  ASSERT_FALSE(checkpoints.empty());
  EXPECT_TRUE(FileExists(checkpoints.back().directory() + "/manifest.json"));
  disk_.Unfill();
  const v1::Run end = cluster_->WaitForEnd(run);
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_EQ(end.latest_checkpoint_step(), 2000);
}

TEST_F(Storage, AReadOnlyDiskIsNamedAndTheRunEndsWhenItIsWritableAgain) {
  const std::string run = cluster_->Submit(FaultRun(2, 60));
  ASSERT_TRUE(disk_.Remount(MS_RDONLY, "96m")) << std::strerror(errno);
  cluster_->StartWorker("node-a", {.slots = 2});
  const v1::Run failed = cluster_->WaitFor(run, [](const v1::Run& now) {
    return IsTerminal(now.state()) || now.reason().find("ead-only") != std::string::npos;
  });
  EXPECT_NE(failed.reason().find("ead-only"), std::string::npos) << failed.reason();
  ASSERT_TRUE(disk_.Remount(0, "96m"));
  EXPECT_EQ(cluster_->WaitForEnd(run).state(), v1::RUN_STATE_SUCCEEDED);
}

TEST_F(Storage, ARunsDirectoryThatWasMovedAwayIsNamedAndSavesGoOnWhenItIsBack) {
  cluster_->StartWorker("node-a", {.slots = 2});
  const std::string run = cluster_->Submit(FaultRun(2, 10'000'000));
  const v1::Run begun =
      cluster_->WaitFor(run, [](const v1::Run& now) { return now.latest_checkpoint_step() >= 10; });
  const std::string directory = begun.run_directory();
  std::filesystem::rename(directory, disk_.path() + "/aside");
  const v1::Run warned = cluster_->WaitFor(run, [](const v1::Run& now) {
    return now.progress().warning().find("was deleted or moved") != std::string::npos;
  });
  EXPECT_EQ(warned.failures(), 0) << warned.reason();
  EXPECT_FALSE(FileExists(directory));
  std::filesystem::rename(disk_.path() + "/aside", directory);
  cluster_->WaitFor(run, [&](const v1::Run& now) {
    return now.latest_checkpoint_step() > warned.progress().step();
  });
  cluster_->Cancel(run);
  EXPECT_EQ(cluster_->WaitForEnd(run).state(), v1::RUN_STATE_CANCELLED);
  EXPECT_TRUE(cluster_->KeptItsLastStep(run));
}

// Unmounting the storage during a run leaves an empty mount point.
TEST_F(Storage, NothingIsMadeWhereTheStorageWas) {
  cluster_->StartWorker("node-a", {.slots = 2});
  const std::string run = cluster_->Submit(FaultRun(2, 10'000'000));
  cluster_->WaitFor(run, [](const v1::Run& now) { return now.latest_checkpoint_step() >= 10; });
  std::filesystem::create_directories(disk_.path() + "-empty");
  ASSERT_EQ(
      mount((disk_.path() + "-empty").c_str(), disk_.path().c_str(), nullptr, MS_BIND, nullptr), 0)
      << std::strerror(errno);
  const v1::Run away = cluster_->WaitFor(run, [](const v1::Run& now) {
    return now.progress().warning().find("was deleted or moved") != std::string::npos;
  });
  EXPECT_TRUE(std::filesystem::is_empty(disk_.path()));
  ASSERT_EQ(umount2(disk_.path().c_str(), MNT_DETACH), 0);
  std::filesystem::remove(disk_.path() + "-empty");
  cluster_->WaitFor(run, [&](const v1::Run& now) {
    return now.latest_checkpoint_step() > away.progress().step();
  });
  EXPECT_EQ(cluster_->Get(run).failures(), 0);
  cluster_->Cancel(run, /*now=*/true);
  cluster_->WaitForEnd(run);
}

TEST(CoordinatorDisk, FullRefusesSubmitsWhileTrainingGoesOnAndRecoversWithoutARestart) {
  SmallDisk disk(NewDiskPath(), "24m");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root: " << disk.why_not();
  Cluster cluster({.coordinator_state = disk.path() + "/state"});
  WriteText(cluster);
  cluster.StartCoordinator();
  cluster.StartWorker("node-a", {.slots = 2});
  const std::string run = cluster.Submit(FaultRun(2, 2000));
  cluster.WaitFor(run, [](const v1::Run& now) { return now.latest_checkpoint_step() >= 10; });
  disk.Fill();
  v1::SubmitRequest request;
  request.set_request_id(RandomId(16));
  request.set_source(FaultRun(1, 10));
  request.set_base_directory(cluster.directory());
  v1::SubmitResponse response;
  grpc::Status last;
  const bool refused = Eventually([&] {
    request.set_request_id(RandomId(16));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    last = cluster.stub().Submit(&context, request, &response);
    return last.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
  });
  EXPECT_TRUE(refused) << "a submit was never refused for want of room; the last answer was "
                       << last.error_code() << ": " << last.error_message();
  EXPECT_TRUE(cluster.coordinator().Running());
  disk.Unfill();
  const v1::Run end = cluster.WaitForEnd(run);
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_EQ(end.epoch(), 1u);
  EXPECT_FALSE(cluster.Submit(FaultRun(1, 10)).empty());
}

TEST(Data, AMissingFileFailsTheRunAtOnceAndIsNamed) {
  Cluster cluster;
  cluster.StartCoordinator();
  cluster.StartWorker("node-a");
  const std::string run = cluster.Submit(FaultRun(1, 10));
  const v1::Run end = cluster.WaitForEnd(run);
  EXPECT_EQ(end.state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(end.epoch(), 1u) << "a mistake in the data was retried";
  EXPECT_NE(end.reason().find("text.txt"), std::string::npos) << end.reason();
}

}  // namespace
}  // namespace gp::testing
