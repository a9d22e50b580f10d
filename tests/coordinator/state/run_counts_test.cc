#include "coordinator/state/run_counts.h"

#include <gtest/gtest.h>

#include "coordinator/state/cluster.h"

namespace gp::coordinator {
namespace {

using RunValue = Run;  // in a TEST, `Run` means testing::Test::Run

RunValue RunIn(const std::string& name, uint64_t number, RunState state) {
  Submission submission;
  submission.run_namespace = name;
  RunValue run;
  run.id = RunId("run" + std::to_string(number));
  run.submitted_sequence = number;
  run.state = state;
  run.submission = std::make_shared<const Submission>(submission);
  return run;
}

TEST(RunCounts, CountEveryRunInItsNamespaceAndState) {
  Cluster cluster;
  cluster.Set(RunIn("a", 1, RunState::kQueued));
  cluster.Set(RunIn("a", 2, RunState::kQueued));
  cluster.Set(RunIn("", 3, RunState::kQueued));
  cluster.Set(RunIn("a", 2, RunState::kRunning));
  cluster.Set(RunIn("", 3, RunState::kFailed));
  cluster.Set(RunIn("", 3, RunState::kFailed));  // for example, after a checkpoint was restored
  using Names = std::set<std::string>;
  EXPECT_EQ(cluster.counts.In(Names{"a"}),
            (RunCounts::ByState{{RunState::kQueued, 1}, {RunState::kRunning, 1}}));
  EXPECT_EQ(cluster.counts.In(Names{"default"}), (RunCounts::ByState{{RunState::kFailed, 1}}));
  EXPECT_EQ(cluster.counts.In(Names{"b"}), RunCounts::ByState());
  EXPECT_EQ(cluster.counts.In(std::nullopt),
            (RunCounts::ByState{
                {RunState::kQueued, 1}, {RunState::kRunning, 1}, {RunState::kFailed, 1}}));
}

}  // namespace
}  // namespace gp::coordinator
