#include "coordinator/checkpoints/disk_usage.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "coordinator/store/sample_events.h"
#include "lib/base/temporary_directory.h"
#include "storage/local_storage.h"

namespace gp::coordinator {
namespace {

using RunValue = Run;  // a fixture has a method Run

class DiskUsage : public ::testing::Test {
 protected:
  void Write(const std::string& name, size_t bytes) const {
    const std::string path = JoinPath(directory_.path(), name);
    ASSERT_TRUE(MakeDirectories(DirectoryOf(path)).ok());
    ASSERT_TRUE(WriteFileAtomically(path, std::string(bytes, 'x')).ok());
  }
  SealedCheckpoint Sealed(const std::string& name) const {
    SealedCheckpoint one;
    one.directory = JoinPath(directory_.path(), "runs/r/checkpoints/" + name);
    return one;
  }

  TemporaryDirectory directory_;
  const LocalStorage storage_{LocalStorage::Links::kRefused};
};

TEST_F(DiskUsage, DividesARunIntoItsCheckpointsAndTheRest) {
  Write("runs/r/checkpoints/a/model", 1000);
  Write("runs/r/checkpoints/b/model", 100);
  Write("runs/r/checkpoints/not-sealed/model", 10);
  Write("runs/r/metrics.jsonl", 1);
  RunValue run;
  Submission submission = SampleSubmission();
  submission.run_directory = JoinPath(directory_.path(), "runs/r");
  run.submission = std::make_shared<const Submission>(submission);
  run.checkpoints = {Sealed("a"), Sealed("b"), Sealed("gone")};
  run.checkpoints[1].pinned = true;
  run.checkpoints[2].retired = true;
  const RunSize size = SizeOf(storage_, run);
  EXPECT_EQ(size.checkpoint_bytes, 1100u);
  EXPECT_EQ(size.other_bytes, 11u);
  EXPECT_EQ(size.checkpoints, 2);
  EXPECT_EQ(size.pinned, 1);
}

TEST_F(DiskUsage, WhatDoesNotExistIsEmpty) {
  EXPECT_EQ(BytesAt(storage_, JoinPath(directory_.path(), "none")), 0u);
}

TEST_F(DiskUsage, FollowsNoLinkToADirectory) {
  Write("elsewhere/large", 1000);
  Write("runs/r/small", 10);
  const std::string link = JoinPath(directory_.path(), "runs/r/link");
  ASSERT_EQ(symlink(JoinPath(directory_.path(), "elsewhere").c_str(), link.c_str()), 0);
  EXPECT_EQ(BytesAt(storage_, JoinPath(directory_.path(), "runs/r")), 10u);
}

}  // namespace
}  // namespace gp::coordinator
