#include "coordinator/access/named_run.h"

#include <gtest/gtest.h>

namespace gp::coordinator {
namespace {

TEST(DeletionText, SaysWhoAndWhen) {
  DeletedRun run{.id = RunId("7f3k2q9a0c"), .name = "tiny", .deleted_by = "user alice"};
  run.deleted_at = Timestamp(std::chrono::seconds(1'764'291'247));
  EXPECT_EQ(DeletionText(run),
            "run 'tiny' (7f3k2q9a0c) was deleted by user alice at 2025-11-28T00:54:07Z");
  run.run_directory = "/storage/runs/7f3k2q9a0c";
  run.kept_checkpoints = {"/storage/runs/7f3k2q9a0c/checkpoints/a"};
  EXPECT_TRUE(DeletionText(run).ends_with("; its checkpoints are in /storage/runs/7f3k2q9a0c"));
}

}  // namespace
}  // namespace gp::coordinator
