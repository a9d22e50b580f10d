// Goal: the right runs count towards a user's quota, and a refusal has the right text.
#include "coordinator/service/quota/run_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;
using RunValue = Run;  // in a TEST, `Run` means testing::Test::Run

void Add(const std::string& user, RunState state, Cluster& cluster) {
  RunValue run;
  run.submitted_sequence = ++cluster.last_sequence;
  run.id = RunId("run" + std::to_string(run.submitted_sequence));
  run.submitted_by = user;
  run.state = state;
  run.submission = std::make_shared<const Submission>();
  cluster.Set(std::move(run));
}

std::function<std::shared_ptr<const Cluster>()> Snapshot(const Cluster& cluster) {
  return [&cluster] { return std::make_shared<const Cluster>(cluster); };
}

TEST(RunQuota, CountsWhatHasNotEndedOfThisUserAlone) {
  Cluster cluster;
  RunQuota quota({.runs = 3, .waiting = 3});
  for (int i = 0; i < 5; ++i) Add("user bob", RunState::kRunning, cluster);
  Add("user alice", RunState::kSucceeded, cluster);
  Add("user alice", RunState::kRunning, cluster);
  Add("user alice", RunState::kQueued, cluster);
  EXPECT_TRUE(quota.Reserve(Snapshot(cluster), "user alice").ok());
  Add("user alice", RunState::kFinishing, cluster);
  const Status refused = quota.Reserve(Snapshot(cluster), "user alice").status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(refused),
              HasSubstr("user alice has 3 runs that have not ended, and may have 3 (limits.runs)"));
  EXPECT_THAT(Message(refused), HasSubstr("gpctl cancel RUN"));
}

TEST(RunQuota, ARunThatWaitsForItsNextTryWaits) {
  Cluster cluster;
  RunQuota quota({.runs = 10, .waiting = 2});
  Add("user alice", RunState::kBackoff, cluster);
  Add("user alice", RunState::kRunning, cluster);
  EXPECT_TRUE(quota.Reserve(Snapshot(cluster), "user alice").ok());
  Add("user alice", RunState::kQueued, cluster);
  EXPECT_THAT(Message(quota.Reserve(Snapshot(cluster), "user alice").status()),
              HasSubstr("user alice has 2 runs that wait for slots, and may have 2"));
}

TEST(RunQuota, APlaceCountsUntilItIsGivenBack) {
  const Cluster cluster;
  RunQuota quota({.runs = 1, .waiting = 1});
  {
    const auto place = quota.Reserve(Snapshot(cluster), "user alice");
    ASSERT_TRUE(place.ok());
    EXPECT_FALSE(quota.Reserve(Snapshot(cluster), "user alice").ok());
    EXPECT_TRUE(quota.Reserve(Snapshot(cluster), "user bob").ok());
    (*place)->Release();
    (*place)->Release();
    EXPECT_TRUE(quota.Reserve(Snapshot(cluster), "user alice").ok());
  }
  EXPECT_TRUE(quota.Reserve(Snapshot(cluster), "user alice").ok());
}

}  // namespace
}  // namespace gp::coordinator
