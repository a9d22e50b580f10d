// Goal: only the end of a trainer by itself counts against its run, and the run ends when it does
// not get any further.
#include "coordinator/scheduler/own_exit.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

using RunValue = Run;  // in a TEST, `Run` means testing::Test::Run

RankReport Exit(ExitCause cause, int code = 1) {
  RankReport report;
  report.phase = RankPhase::kExited;
  report.cause = cause;
  report.exit_code = code;
  return report;
}

TEST(OwnExit, IsTheTrainersDoing) {
  EXPECT_TRUE(IsOwnExit(Exit(ExitCause::kError)));
  EXPECT_TRUE(IsOwnExit(Exit(ExitCause::kStalled, 9)));
  EXPECT_TRUE(IsOwnExit(Exit(ExitCause::kOutOfMemory, 9)));
  EXPECT_TRUE(IsOwnExit(Exit(ExitCause::kSignal, 11)));
  EXPECT_FALSE(IsOwnExit(Exit(ExitCause::kSignal, 9))) << "somebody killed it";
  EXPECT_FALSE(IsOwnExit(Exit(ExitCause::kError, 9))) << "its agent killed it";
  EXPECT_FALSE(IsOwnExit(Exit(ExitCause::kError, 0))) << "it was not started";
  for (const ExitCause cause :
       {ExitCause::kStorage, ExitCause::kData, ExitCause::kCollective, ExitCause::kStopped,
        ExitCause::kUnspecified, ExitCause::kUnfit, ExitCause::kDamagedCheckpoint}) {
    EXPECT_FALSE(IsOwnExit(Exit(cause))) << Name(cause);
  }
}

class EndsOfRetries : public ::testing::Test {
 protected:
  EndsOfRetries() {
    run_.placement = {{.rank = 0, .node = NodeId("a"), .slot = SlotId("0")},
                      {.rank = 1, .node = NodeId("b"), .slot = SlotId("0")}};
  }

  // The answer to an exit, which is counted then.
  std::string Exits(int rank, int64_t step) {
    const std::string end = EndOfRetries(cluster_, run_, rank, step);
    NoteOwnExit(step, run_.placement[static_cast<size_t>(rank)].node, run_);
    return end;
  }

  Cluster cluster_;
  RunValue run_;
};

TEST_F(EndsOfRetries, ThreeInARowWithoutANewStep) {
  EXPECT_EQ(Exits(0, 37), "");
  EXPECT_EQ(Exits(0, 31), "");
  EXPECT_EQ(Exits(1, 36),
            "; gave up: its trainers ended 3 times in a row without getting past step 37");
}

TEST_F(EndsOfRetries, ANewStepBeginsTheCountAgain) {
  for (int step = 10; step < 100; step += 10) {
    EXPECT_EQ(Exits(0, step), "");
    EXPECT_EQ(Exits(0, step - 5), "");
  }
}

TEST_F(EndsOfRetries, ThreeBeforeTheFirstStep) {
  EXPECT_EQ(Exits(0, -1), "");
  EXPECT_EQ(Exits(1, -1), "") << "no step has failed";
  EXPECT_EQ(Exits(0, -1), "; gave up: its trainers ended 3 times in a row before the first step");
}

TEST_F(EndsOfRetries, TheSameStepOnTwoNodes) {
  EXPECT_EQ(Exits(0, 37), "");
  EXPECT_EQ(Exits(0, 37), "") << "the node may be at fault";
  ForgetFailures(run_);
  EXPECT_EQ(Exits(0, 37), "");
  EXPECT_EQ(Exits(1, 37), "; gave up: step 38 failed on two nodes, a and b");
}

TEST_F(EndsOfRetries, AnEarlierStepOnAnotherNodeInBetweenIsNotTheSameStep) {
  EXPECT_EQ(Exits(0, 37), "");
  EXPECT_EQ(Exits(1, 36), "");
  EXPECT_EQ(Exits(0, 37).find("two nodes"), std::string::npos);
}

}  // namespace
}  // namespace gp::coordinator
