#include "coordinator/notifications/waiting_runs.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

constexpr std::chrono::seconds kLimit{60};

Timestamp Second(int64_t seconds) { return At(seconds * 1'000'000); }

StoredEvent Stored(uint64_t sequence, int64_t second, EventBody body) {
  return {sequence, {.run = RunId("r"), .at = Second(second), .body = std::move(body)}};
}

Cluster ClusterWith(RunState state) {
  Cluster cluster;
  Run run;
  run.id = RunId("r");
  run.submission = std::make_shared<const Submission>();
  run.state = state;
  cluster.Set(run);
  return cluster;
}

class WaitingRunsTest : public ::testing::Test {
 protected:
  std::vector<std::pair<RunId, SlotWait>> Due(int64_t second, RunState state = RunState::kQueued) {
    return waiting_.Due(ClusterWith(state), Second(second), kLimit);
  }

  WaitingRuns waiting_;
  const std::vector<std::pair<RunId, SlotWait>> since_the_submit_ = {
      {RunId("r"), SlotWait{1, Second(100)}}};
};

TEST_F(WaitingRunsTest, AWaitIsDueOnceItIsLongEnough) {
  waiting_.Observe(Stored(1, 100, RunSubmitted{}));
  waiting_.Observe(Stored(2, 101, RunQueued{"needs 2 slots"}));
  EXPECT_TRUE(Due(159).empty());
  EXPECT_EQ(Due(160), since_the_submit_);
  waiting_.SetReported(RunId("r"), 1);
  EXPECT_TRUE(Due(1000).empty());
}

TEST_F(WaitingRunsTest, APlacedRunDoesNotWait) {
  waiting_.Observe(Stored(1, 100, RunSubmitted{}));
  waiting_.Observe(Stored(3, 110, RunPlaced{}));
  EXPECT_TRUE(Due(1000).empty());
  waiting_.Observe(Stored(4, 200, RunRequeued{}));
  EXPECT_TRUE(Due(259).empty());
  EXPECT_EQ(Due(260).size(), 1u);
}

TEST_F(WaitingRunsTest, TheClusterConfirmsThatItStillWaits) {
  waiting_.Observe(Stored(1, 100, LegRequested{}));
  EXPECT_TRUE(Due(1000, RunState::kRunning).empty());
  EXPECT_EQ(Due(1000).size(), 1u);
}

TEST_F(WaitingRunsTest, TheNextWaitIsReportedAgain) {
  waiting_.Observe(Stored(1, 100, RunSubmitted{}));
  waiting_.SetReported(RunId("r"), 1);
  waiting_.Observe(Stored(3, 200, RunPlaced{}));
  waiting_.Observe(Stored(4, 210, RankFailed{}));
  EXPECT_EQ(Due(300).size(), 1u);
}

// After a restart the reported waits are known before the events are read again.
TEST_F(WaitingRunsTest, ReadingTheEventsAgainChangesNothing) {
  waiting_.SetReported(RunId("r"), 4);
  for (int times = 0; times < 2; ++times) {
    waiting_.Observe(Stored(1, 100, RunSubmitted{}));
    waiting_.Observe(Stored(3, 200, RunPlaced{}));
    waiting_.Observe(Stored(4, 210, RankFailed{}));
    EXPECT_TRUE(Due(1000).empty());
  }
}

TEST_F(WaitingRunsTest, WhichEventsChangeAWait) {
  EXPECT_TRUE(ChangesWait(Stored(1, 0, RunResumed{}).event));
  EXPECT_TRUE(ChangesWait(Stored(1, 0, RunDeleted{}).event));
  EXPECT_FALSE(ChangesWait(Stored(1, 0, RunQueued{}).event));
}

}  // namespace
}  // namespace gp::coordinator
