#include "worker/agent/rank.h"

#include <gtest/gtest.h>

#include "worker/agent/engine_limits.h"

namespace gp::agent {
namespace {

const MonotonicTime kObservedAt{std::chrono::hours(1)};

Rank Starting() { return Rank{.key = {"run1", 3, 1}, .slot_id = "cpu-0", .incarnation = "i"}; }

TEST(Rank, FollowsItsTrainerFromListeningToFinished) {
  Rank rank = Starting();
  EXPECT_TRUE(Observe(rank, link::Listening{"127.0.0.1:9"}, kObservedAt));
  EXPECT_TRUE(Observe(rank, link::Ready{.epoch = 3, .step = 40}, kObservedAt));
  EXPECT_EQ(StatusOf(rank).step(), 40);
  EXPECT_TRUE(Observe(rank, link::StepReport{.point = {.step = 41, .epoch = 3}}, kObservedAt));
  EXPECT_FALSE(Observe(rank, link::StepReport{.point = {.step = 42, .epoch = 3}}, kObservedAt));
  EXPECT_EQ(StatusOf(rank).phase(), v1::RANK_PHASE_RUNNING);
  EXPECT_TRUE(Observe(rank, link::CheckpointReport{{.step = 42}, 3}, kObservedAt));
  EXPECT_TRUE(Observe(rank, link::Finished{.epoch = 3, .step = 42}, kObservedAt));
  const v1::RankStatus status = StatusOf(rank);
  EXPECT_EQ(status.phase(), v1::RANK_PHASE_FINISHED);
  EXPECT_EQ(status.address(), "127.0.0.1:9");
  EXPECT_EQ(status.written_size(), 1);
}

TEST(Rank, IgnoresMessagesOfAnotherEpoch) {
  Rank rank = Starting();
  Observe(rank, link::Listening{"127.0.0.1:9"}, kObservedAt);
  EXPECT_FALSE(Observe(rank, link::Ready{.epoch = 2}, kObservedAt));
  EXPECT_FALSE(Observe(rank, link::StepReport{.point = {.step = 7, .epoch = 2}}, kObservedAt));
  EXPECT_FALSE(Observe(rank, link::CheckpointReport{{}, 4}, kObservedAt));
  EXPECT_FALSE(Observe(rank, link::Finished{.epoch = 4}, kObservedAt));
  EXPECT_EQ(rank.phase, v1::RANK_PHASE_LISTENING);
  EXPECT_EQ(rank.step, 0);
}

TEST(Rank, AProcessThatHoldsGoesOnInTheNextEpochAndSendsWhatItWroteInTheOneBefore) {
  Rank rank = Starting();
  Observe(rank, link::Listening{"127.0.0.1:9"}, kObservedAt);
  Observe(rank, link::Ready{.epoch = 3, .step = 40}, kObservedAt);
  rank.configured = rank.told_go = true;
  EXPECT_TRUE(Observe(rank, link::Held{.epoch = 3, .committed = 41}, kObservedAt));
  EXPECT_TRUE(StatusOf(rank).holds());
  EXPECT_EQ(StatusOf(rank).step(), 41);
  ContinueAs({"run1", 4, 0}, kObservedAt, rank);
  EXPECT_FALSE(rank.configured || rank.told_go);
  EXPECT_EQ(rank.phase, v1::RANK_PHASE_LISTENING);
  EXPECT_FALSE(Observe(rank, link::Held{.epoch = 3, .committed = 1}, kObservedAt)) << "late";
  EXPECT_TRUE(Observe(rank, link::CheckpointReport{{.step = 40}, 3}, kObservedAt));
  EXPECT_FALSE(Observe(rank, link::CheckpointReport{{.step = 40}, 2}, kObservedAt));
  EXPECT_FALSE(Observe(rank, link::Ready{.epoch = 3}, kObservedAt));
  EXPECT_TRUE(Observe(rank, link::Ready{.epoch = 4, .step = 41}, kObservedAt));
  EXPECT_FALSE(StatusOf(rank).holds());
  EXPECT_EQ(StatusOf(rank).written_size(), 1);
}

// Training continues while the coordinator is away, however many checkpoints are written meanwhile.
TEST(Rank, OfManyUnansweredCheckpointsTheNewestAreKept) {
  Rank rank = Starting();
  const int64_t count = 3 * static_cast<int64_t>(kUnansweredMax);
  for (int64_t step = 1; step <= count; ++step) {
    EXPECT_TRUE(Observe(rank, link::CheckpointReport{{.step = step}, 3}, kObservedAt));
  }
  ASSERT_EQ(rank.written.size(), kUnansweredMax);
  EXPECT_EQ(rank.written.back().step(), count);
}

TEST(Rank, TellsWhatItCannotGoOnWithoutWhileItLacksIt) {
  Rank rank = Starting();
  EXPECT_FALSE(Observe(rank, link::Waiting{.epoch = 2, .reason = "stale"}, kObservedAt));
  EXPECT_TRUE(Observe(rank, link::Waiting{.epoch = 3, .reason = "no room"}, kObservedAt));
  EXPECT_FALSE(Observe(rank, link::Waiting{.epoch = 3, .reason = "no room"}, kObservedAt));
  EXPECT_EQ(StatusOf(rank).waiting(), "no room");
  EXPECT_TRUE(Observe(rank, link::Waiting{.epoch = 3}, kObservedAt));
  EXPECT_EQ(StatusOf(rank).waiting(), "");
}

TEST(Rank, TellsItsProgressUntilItExited) {
  Rank rank = Starting();
  EXPECT_FALSE(StatusOf(rank).has_progress());
  rank.reported_progress.emplace().set_phase("backward");
  EXPECT_EQ(StatusOf(rank).progress().phase(), "backward");
  rank.phase = v1::RANK_PHASE_EXITED;
  EXPECT_FALSE(StatusOf(rank).has_progress());
}

TEST(Rank, TellsItsExitOnlyOnceItExited) {
  Rank rank = Starting();
  rank.exit = {v1::EXIT_CAUSE_SIGNAL, 9, "killed"};
  EXPECT_EQ(StatusOf(rank).exit_cause(), v1::EXIT_CAUSE_UNSPECIFIED);
  rank.phase = v1::RANK_PHASE_EXITED;
  EXPECT_EQ(StatusOf(rank).exit_cause(), v1::EXIT_CAUSE_SIGNAL);
  EXPECT_FALSE(Observe(rank, link::Listening{"late"}, kObservedAt));
}

TEST(RankTable, ASlotIsBusyUntilItsProcessIsReaped) {
  RankTable ranks;
  Rank& rank = ranks.Add(Starting());
  EXPECT_TRUE(ranks.SlotBusy("cpu-0"));
  EXPECT_FALSE(ranks.SlotBusy("cpu-1"));
  rank.phase = v1::RANK_PHASE_EXITED;
  EXPECT_FALSE(ranks.SlotBusy("cpu-0"));
}

}  // namespace
}  // namespace gp::agent
