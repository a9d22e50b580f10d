#include "coordinator/state/run_tally.h"

#include <gtest/gtest.h>

#include "coordinator/state/cluster.h"

namespace gp::coordinator {
namespace {

using RunValue = Run;  // in a TEST, `Run` means testing::Test::Run

RunValue RunOf(const std::string& user, uint64_t number, RunState state) {
  auto submission = std::make_shared<Submission>();
  submission->source = "1234567";
  submission->resolved = "123";
  RunValue run;
  run.id = RunId("run" + std::to_string(number));
  run.submitted_sequence = number;
  run.submitted_by = user;
  run.state = state;
  run.submission = std::move(submission);
  return run;
}

TEST(RunTally, FollowsEachRunFromItsSubmitToItsEnd) {
  Cluster cluster;
  cluster.Set(RunOf("ann", 1, RunState::kSubmitted));
  cluster.Set(RunOf("ann", 2, RunState::kSubmitted));
  cluster.Set(RunOf("bob", 3, RunState::kBackoff));
  cluster.Set(RunOf("ann", 2, RunState::kRunning));
  EXPECT_EQ(cluster.tally.Of("ann"), (RunTally::Count{.live = 2, .waiting = 1}));
  EXPECT_EQ(cluster.tally.Of("bob"), (RunTally::Count{.live = 1, .waiting = 1}));
  EXPECT_EQ(cluster.tally.In(RunState::kSubmitted), 1);
  EXPECT_EQ(cluster.tally.In(RunState::kRunning), 1);
  EXPECT_EQ(cluster.tally.file_bytes(), 30u);

  cluster.Set(RunOf("ann", 2, RunState::kSucceeded));
  cluster.Set(RunOf("bob", 3, RunState::kCancelled));
  EXPECT_EQ(cluster.tally.Of("ann"), (RunTally::Count{.live = 1, .waiting = 1}));
  EXPECT_EQ(cluster.tally.Of("bob"), RunTally::Count{});
  EXPECT_EQ(cluster.tally.In(RunState::kCancelled), 0);
  EXPECT_EQ(cluster.tally.file_bytes(), 10u);

  cluster.Set(RunOf("ann", 1, RunState::kFailed));
  EXPECT_EQ(cluster.tally, RunTally());
}

TEST(RunTally, CountsNoEndedRunTwice) {
  Cluster cluster;
  cluster.Set(RunOf("ann", 1, RunState::kFailed));
  cluster.Set(RunOf("ann", 1, RunState::kFailed));  // for example, after a checkpoint was restored
  EXPECT_EQ(cluster.tally, RunTally());
}

}  // namespace
}  // namespace gp::coordinator
