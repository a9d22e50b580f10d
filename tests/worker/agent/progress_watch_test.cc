// Goal: a trainer that makes no progress is found within the limit, one that waits or is slow
// never, and time in which the agent did not run counts for nobody.
#include "worker/agent/progress_watch.h"

#include <gtest/gtest.h>

#include <string>

namespace gp::agent {
namespace {

using progress::Phase;
using progress::Wait;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

link::Beat At(uint64_t count, Wait wait = Wait::kNothing, std::optional<int64_t> longest_ms = 100) {
  return {.phase = static_cast<int>(Phase::kBackward),
          .count = count,
          .waits_for = static_cast<int>(wait),
          .peer = wait == Wait::kPeer ? 1 : -1,
          .longest_ms = longest_ms};
}

// A trainer that sends `newest` every 100 ms.
class Watched {
 public:
  void Say(const link::Beat& newest, nanoseconds duration) {
    for (const nanoseconds end = now_ + duration; now_ < end; now_ += milliseconds(100)) {
      watch_.Observe(newest, now_);
    }
  }
  void BeSilent(nanoseconds duration) { now_ += duration; }
  std::string Hang() const { return watch_.Hang(now_).value_or(""); }
  bool AwaitsPeerTooLong() const { return watch_.AwaitsPeerTooLong(now_); }
  v1::RankProgress Report() const { return *watch_.Report(now_); }

 private:
  ProgressWatch watch_;
  nanoseconds now_{0};
};

TEST(ProgressWatch, ATrainerThatMakesNoProgressHangsAfterTwoSeconds) {
  Watched trainer;
  trainer.Say(At(1), milliseconds(1900));
  EXPECT_EQ(trainer.Hang(), "");
  trainer.Say(At(1), milliseconds(100));
  EXPECT_EQ(trainer.Hang(), "hung in phase backward: no progress for 2.0 s (limit 2.0 s)");
  trainer.Say(At(2), milliseconds(100));
  EXPECT_EQ(trainer.Hang(), "");
}

TEST(ProgressWatch, TheLimitIsSixTimesTheLongestIntervalOfThePhase) {
  Watched trainer;
  trainer.Say(At(1, Wait::kNothing, 1000), milliseconds(5900));
  EXPECT_EQ(trainer.Hang(), "");
  trainer.Say(At(1, Wait::kNothing, 1000), milliseconds(100));
  EXPECT_EQ(trainer.Hang(), "hung in phase backward: no progress for 6.0 s (limit 6.0 s)");
}

TEST(ProgressWatch, APhaseThatWasNotCompletedYetHasAMinute) {
  Watched trainer;
  trainer.Say(At(1, Wait::kNothing, std::nullopt), milliseconds(59'900));
  EXPECT_EQ(trainer.Hang(), "");
  trainer.Say(At(1, Wait::kNothing, std::nullopt), milliseconds(100));
  EXPECT_EQ(trainer.Hang(), "hung in phase backward: no progress for 60.0 s (limit 60.0 s)");
}

TEST(ProgressWatch, ATrainerThatWaitsDoesNotHang) {
  for (const Wait wait :
       {Wait::kPeer, Wait::kStorage, Wait::kData, Wait::kSeal, Wait::kSupervisor}) {
    Watched trainer;
    trainer.Say(At(1, wait), hours(1));
    EXPECT_EQ(trainer.Hang(), "") << static_cast<int>(wait);
    EXPECT_EQ(trainer.AwaitsPeerTooLong(), wait == Wait::kPeer);
    trainer.Say(At(2), milliseconds(1900));
    EXPECT_EQ(trainer.Hang(), "") << "the wait counted";
  }
}

TEST(ProgressWatch, AStoppedProcessHangsWhateverItWaitedFor) {
  Watched trainer;
  trainer.Say(At(1, Wait::kStorage), seconds(10));
  trainer.BeSilent(milliseconds(1800));
  EXPECT_EQ(trainer.Hang(), "");
  trainer.BeSilent(milliseconds(200));
  EXPECT_EQ(trainer.Hang(),
            "stopped running in phase backward: nothing was heard from it for 2.1 s (limit 2.0 s)");
}

// A machine under load, or one that swaps, makes pauses between messages longer.
TEST(ProgressWatch, SilenceIsJudgedByTheSilencesBefore) {
  Watched trainer;
  trainer.Say(At(1, Wait::kData), seconds(1));
  trainer.BeSilent(milliseconds(900));
  trainer.Say(At(2, Wait::kData), seconds(1));
  trainer.BeSilent(milliseconds(5800));
  EXPECT_EQ(trainer.Hang(), "");
  trainer.BeSilent(milliseconds(200));
  EXPECT_NE(trainer.Hang(), "");
}

TEST(ProgressWatch, AProcessThatStartsMayBeSilentForTenSeconds) {
  Watched trainer;
  trainer.Say(At(1, Wait::kNothing, std::nullopt), milliseconds(100));
  trainer.BeSilent(milliseconds(9'800));
  EXPECT_EQ(trainer.Hang(), "");
  trainer.BeSilent(milliseconds(200));
  EXPECT_NE(trainer.Hang(), "");
}

// Silence is not a matter of the phase, so a process that has trained is found soon also in a phase
// that is new to it, or that has no intervals because it always waits there.
TEST(ProgressWatch, AProcessThatHasTrainedMayNotBeSilentForLongInANewPhase) {
  Watched trainer;
  trainer.Say(At(1), milliseconds(100));
  trainer.Say(At(2, Wait::kPeer, std::nullopt), milliseconds(100));
  trainer.BeSilent(milliseconds(2000));
  EXPECT_EQ(trainer.Hang(),
            "stopped running in phase backward: nothing was heard from it for 2.1 s (limit 2.0 s)");
}

TEST(ProgressWatch, BeforeItsFirstMessageATrainerDoesNotHang) {
  Watched trainer;
  trainer.BeSilent(hours(1));
  EXPECT_EQ(trainer.Hang(), "");
  EXPECT_FALSE(ProgressWatch().Report(seconds(1)).has_value());
}

TEST(ProgressWatch, TellsTheCoordinatorPhaseWaitAndTimes) {
  Watched trainer;
  trainer.Say(At(1, Wait::kPeer), seconds(3));
  const v1::RankProgress report = trainer.Report();
  EXPECT_EQ(report.phase(), "backward");
  EXPECT_EQ(report.waits_for(), "peer");
  EXPECT_EQ(report.peer(), 1);
  EXPECT_EQ(report.still_ms(), 3000);
  EXPECT_EQ(report.limit_ms(), 2000);
}

TEST(ProgressWatch, AProcessThatMayBeStoppedAwaitsNoPeer) {
  Watched trainer;
  trainer.Say(At(1, Wait::kPeer), seconds(10));
  EXPECT_TRUE(trainer.AwaitsPeerTooLong());
  trainer.BeSilent(seconds(1));
  EXPECT_FALSE(trainer.AwaitsPeerTooLong());
  EXPECT_EQ(trainer.Report().waits_for(), "");
}

TEST(ProgressWatch, NumbersOfALaterVersionHaveAName) {
  Watched trainer;
  trainer.Say({.phase = 99, .count = 1, .waits_for = -5}, milliseconds(100));
  EXPECT_EQ(trainer.Report().phase(), "unknown");
  EXPECT_EQ(trainer.Report().waits_for(), "unknown");
}

TEST(RunningTime, TimeInWhichTheLoopDidNotTurnDoesNotCount) {
  RunningTime time;
  MonotonicTime now(hours(5));
  time.Advance(now);
  EXPECT_EQ(time.passed(), nanoseconds(0));
  time.Advance(now += milliseconds(100));
  EXPECT_EQ(time.passed(), milliseconds(100));
  time.Advance(now += hours(8));  // a laptop slept
  EXPECT_LE(time.passed(), milliseconds(600));
  time.Advance(now - hours(1));
  EXPECT_LE(time.passed(), milliseconds(600));
}

}  // namespace
}  // namespace gp::agent
