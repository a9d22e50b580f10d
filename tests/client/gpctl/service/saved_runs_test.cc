// Goal: after a stop every run that trained is told with the step that it goes on from.
#include "client/gpctl/service/saved_runs.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp::gpctl {
namespace {

class SavedRunsTest : public ::testing::Test {
 protected:
  void AddCheckpoint(const std::string& name, bool whole = true) {
    const std::string folder = JoinPath(directory_.path(), "checkpoints/" + name);
    ASSERT_TRUE(MakeDirectories(folder, 0700).ok());
    if (!whole) return;
    ASSERT_TRUE(WriteFileAtomically(JoinPath(folder, "manifest.json"), "{}").ok());
  }
  StoppedRun Run(int64_t step, int64_t checkpoint) const {
    return {.run_id = "r",
            .name = "tiny",
            .directory = directory_.path(),
            .epoch = 2,
            .step = step,
            .checkpoint = checkpoint};
  }

  TemporaryDirectory directory_;
};

TEST_F(SavedRunsTest, TheNewestWholeCheckpointOfTheLastRanksCounts) {
  AddCheckpoint("step-00000900-e1-abc");  // of a leg before, beyond the step where this one began
  AddCheckpoint("step-00000410-e2-abc");
  AddCheckpoint("step-00000425-e2-abc");
  AddCheckpoint("step-00000430-e2-abc", /*whole=*/false);
  EXPECT_EQ(SavedStep(Run(420, 300)), 425);
  EXPECT_EQ(SavedText({Run(420, 300)}), "tiny saved step 425.\n");
}

TEST_F(SavedRunsTest, WhatWasNotSavedIsTold) {
  EXPECT_EQ(SavedText({Run(420, 300)}),
            "tiny continues from step 300; it was at step 420, so it trains 120 steps again.\n");
  EXPECT_EQ(SavedText({Run(1420, -1)}),
            "tiny has no checkpoint and starts over; it was at step 1,420.\n");
  EXPECT_EQ(SavedText({}), "");
}

}  // namespace
}  // namespace gp::gpctl
