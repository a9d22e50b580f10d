// Goal: a snapshot tells what the training thread does; intervals leave out waits and the time in
// which the process did not run. The reports belong to the process, so each test looks at changes.
#include "base/machine/progress.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>

namespace gp::progress {
namespace {

using std::chrono::milliseconds;

TEST(Progress, EveryReportChangesTheCount) {
  const Training training;
  uint64_t before = Now().count;
  const auto changed = [&before] { return std::exchange(before, Now().count) != before; };
  Tick();
  EXPECT_TRUE(changed());
  {
    const InPhase phase(Phase::kForward);
    EXPECT_TRUE(changed());
    EXPECT_EQ(Now().phase, Phase::kForward);
    {
      const Awaiting waiting(Wait::kPeer, 3);
      EXPECT_TRUE(changed());
      EXPECT_EQ(Now().wait, Wait::kPeer);
      EXPECT_EQ(Now().peer, 3);
    }
    EXPECT_TRUE(changed());
    EXPECT_EQ(Now().wait, Wait::kNothing);
  }
  EXPECT_TRUE(changed());
  EXPECT_EQ(Now().phase, Phase::kStart);
  EXPECT_FALSE(changed());
}

TEST(Progress, AnInnerWaitReturnsToTheOuterOne) {
  const Training training;
  const Awaiting storage(Wait::kStorage);
  {
    const Awaiting peer(Wait::kPeer, 1);
    EXPECT_EQ(Now().wait, Wait::kPeer);
  }
  EXPECT_EQ(Now().wait, Wait::kStorage);
  EXPECT_EQ(Now().peer, -1);
}

TEST(Progress, ThreadsThatDoNotTrainReportNothing) {
  const uint64_t before = Now().count;
  Tick();
  const InPhase phase(Phase::kBackward);
  const Awaiting waiting(Wait::kData);
  EXPECT_EQ(Now().count, before);
  EXPECT_EQ(Now().phase, Phase::kStart);
  EXPECT_EQ(Now().wait, Wait::kNothing);
}

TEST(Progress, ThePhasesLongestIntervalIsKnownOnceItWasLeft) {
  const Training training;
  {
    const InPhase phase(Phase::kSample);
    AdvanceClock(milliseconds(300));
    Tick();
    AdvanceClock(milliseconds(200));
    EXPECT_EQ(Now().longest_ms, -1);
  }
  AdvanceClock(milliseconds(5000));
  const InPhase again(Phase::kSample);
  EXPECT_EQ(Now().longest_ms, 300);
}

TEST(Progress, AWaitIsNoInterval) {
  const Training training;
  {
    const InPhase phase(Phase::kTuning);
    AdvanceClock(milliseconds(100));
    const Awaiting waiting(Wait::kStorage);
    AdvanceClock(milliseconds(9000));
  }
  const InPhase again(Phase::kTuning);
  EXPECT_EQ(Now().longest_ms, 100);
}

TEST(Progress, APhaseMayFollowAnotherOneDirectly) {
  const Training training;
  InPhase phase(Phase::kForward);
  phase.Next(Phase::kBackward);
  EXPECT_EQ(Now().phase, Phase::kBackward);
  phase.Next(Phase::kForward);
  EXPECT_GE(Now().longest_ms, 0) << "it was left";
}

TEST(Progress, MoreWorkOfAPhaseDoesNotCompleteIt) {
  const Training training;
  InPhase phase(Phase::kSave);
  phase.Next(Phase::kSave);
  EXPECT_EQ(Now().longest_ms, -1);
  phase.Next(Phase::kEvaluation);
  phase.Next(Phase::kSave);
  EXPECT_GE(Now().longest_ms, 0);
}

TEST(Progress, WhoAwaitsTheHelperDoesWhatTheHelperDoes) {
  const Training training;
  const AwaitingHelper waiting;
  uint64_t before = Now().count;
  std::thread([&] {
    const Training helper(/*helper=*/true);
    EXPECT_NE(Now().count, before);
    const Awaiting peer(Wait::kPeer, 2);
    EXPECT_EQ(Now().wait, Wait::kPeer);
    EXPECT_EQ(Now().peer, 2);
    before = Now().count;
    Tick();
    EXPECT_NE(Now().count, before);
  }).join();
  EXPECT_EQ(Now().wait, Wait::kNothing);
}

}  // namespace
}  // namespace gp::progress
