// Storage that fails: full, read-only, or damaged. Each is told in words, loses nothing that was
// sealed, and ends when the storage is good again. Row 25 of the fault list.
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

namespace gp::testing {
namespace {

using std::chrono::seconds;

// A small file system of its own.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& size)
      : path_(::testing::TempDir() + "gp-disk-" + RandomId(8)) {
    std::filesystem::create_directories(path_);
    mounted_ = mount("tmpfs", path_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
    if (!mounted_) why_not_ = std::strerror(errno);
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
    std::filesystem::remove_all(path_);
  }

  const std::string& path() const { return path_; }
  bool mounted() const { return mounted_; }
  const std::string& why_not() const { return why_not_; }
  bool Remount(unsigned long flags, const std::string& size) {
    return mount("tmpfs", path_.c_str(), "tmpfs", MS_REMOUNT | flags, ("size=" + size).c_str()) ==
           0;
  }

 private:
  const std::string path_;
  bool mounted_ = false;
  std::string why_not_;
};

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

  // Takes the disk's free space; the file can be removed to give it back.
  void FillDisk() {
    const auto free = FreeBytes(disk_.path());
    ASSERT_TRUE(free.ok());
    const std::string filler(*free, 'x');
    FileDescriptor file(open((disk_.path() + "/filler").c_str(), O_WRONLY | O_CREAT, 0644));
    [[maybe_unused]] const Status status = WriteAll(file.get(), filler, "filler");
  }

  SmallDisk disk_{"96m"};
  std::optional<Cluster> cluster_;
};

TEST_F(Storage, AFullDiskCostsCheckpointsButNoSealedOneAndTheRunEndsWhenThereIsRoom) {
  cluster_->StartWorker("node-a", {.slots = 2});
  const std::string run = cluster_->Submit(FaultRun(2, 2000));
  cluster_->WaitFor(run, [](const v1::Run& now) { return now.latest_checkpoint_step() >= 10; });
  FillDisk();
  const int64_t sealed = cluster_->Get(run).latest_checkpoint_step();
  const int64_t step = cluster_->Get(run).progress().step();
  cluster_->WaitFor(run, [&](const v1::Run& now) {
    return IsTerminal(now.state()) || now.progress().step() >= step + 100;
  });
  EXPECT_FALSE(IsTerminal(cluster_->Get(run).state())) << "a full disk must not stop training";
  EXPECT_GE(cluster_->Get(run).latest_checkpoint_step(), sealed);
  const auto checkpoints = cluster_->Checkpoints(run);
  ASSERT_FALSE(checkpoints.empty());
  EXPECT_TRUE(FileExists(checkpoints.back().directory() + "/manifest.json"));
  std::filesystem::remove(disk_.path() + "/filler");
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
