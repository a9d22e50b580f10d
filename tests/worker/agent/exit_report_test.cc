#include "worker/agent/exit_report.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace gp::agent {
namespace {

// Wait statuses as waitpid() encodes them.
constexpr int Exited(int code) { return code << 8; }
constexpr int Signalled(int signal) { return signal; }

TEST(ExitReport, ZeroIsCompletedStoppedOrTooEarly) {
  EXPECT_EQ(Explain({.wait_status = Exited(0), .finished = true}).cause, v1::EXIT_CAUSE_COMPLETED);
  EXPECT_EQ(Explain({.wait_status = Exited(0), .told_stop = true}).cause, v1::EXIT_CAUSE_STOPPED);
  EXPECT_EQ(Explain({.wait_status = Exited(0)}).cause, v1::EXIT_CAUSE_ERROR);
}

TEST(ExitReport, ARankThatLeftAtItsOwnOrAPeersRequestWasStopped) {
  const ExitReport report =
      Explain({.wait_status = Exited(0), .stopped = link::Stopped{1, 464, "SIGTERM"}});
  EXPECT_EQ(report.cause, v1::EXIT_CAUSE_STOPPED);
  EXPECT_EQ(report.message, "stopped after step 464: SIGTERM");
  // The trainer had taken its last step, but its checkpoint was not sealed.
  EXPECT_EQ(Explain({.wait_status = Exited(0),
                     .finished = true,
                     .stopped = link::Stopped{1, 500, "cancelled"}})
                .cause,
            v1::EXIT_CAUSE_STOPPED);
}

TEST(ExitReport, ExitCodesHaveCauses) {
  EXPECT_EQ(Explain({.wait_status = Exited(1)}).cause, v1::EXIT_CAUSE_ERROR);
  EXPECT_EQ(Explain({.wait_status = Exited(10)}).cause, v1::EXIT_CAUSE_STORAGE);
  EXPECT_EQ(Explain({.wait_status = Exited(9)}).cause, v1::EXIT_CAUSE_DAMAGED_CHECKPOINT);
  EXPECT_EQ(Explain({.wait_status = Exited(11)}).cause, v1::EXIT_CAUSE_COLLECTIVE);
}

// The trainer exits with code 2 for bad settings, but also for missing data, which another node may
// have.
TEST(ExitReport, AnExitCodeAloneNeverEndsTheRun) {
  for (int code = 1; code < 256; ++code) {
    const v1::ExitCause cause = Explain({.wait_status = Exited(code)}).cause;
    EXPECT_NE(cause, v1::EXIT_CAUSE_CONFIG) << code;
    EXPECT_NE(cause, v1::EXIT_CAUSE_SPAWN_FAILED) << code;
  }
  EXPECT_EQ(Explain({.wait_status = Exited(2)}).cause, v1::EXIT_CAUSE_ERROR);
  EXPECT_EQ(Explain({.wait_status = Exited(2),
                     .failed = link::Failed{.cause = contract::ExitCause::kUnspecified}})
                .cause,
            v1::EXIT_CAUSE_ERROR)
      << "a cause that this agent does not know";
}

TEST(ExitReport, LastWordsOutrankTheExitCode) {
  const ExitReport report =
      Explain({.wait_status = Exited(1),
               .failed = link::Failed{contract::ExitCause::kConfig, "data/x.txt: no such file"}});
  EXPECT_EQ(report.cause, v1::EXIT_CAUSE_CONFIG);
  EXPECT_EQ(report.code, 1);
  EXPECT_EQ(report.message, "data/x.txt: no such file");
}

TEST(ExitReport, WhoWasToldToStopStoppedWhateverItsLastWords) {
  const ExitReport report =
      Explain({.wait_status = Exited(11),
               .told_stop = true,
               .failed = link::Failed{contract::ExitCause::kCollective, "lost"}});
  EXPECT_EQ(report.cause, v1::EXIT_CAUSE_STOPPED);
  EXPECT_EQ(report.code, 11);
  EXPECT_EQ(report.message, "stopped on request; exited with code 11");
}

TEST(ExitReport, WhoWasKilledForMakingNoProgressStalled) {
  const ExitReport report = Explain({.wait_status = Signalled(SIGKILL),
                                     .kill_reason = "hung in phase backward",
                                     .hung = true,
                                     .memory_killed = true});
  EXPECT_EQ(report.cause, v1::EXIT_CAUSE_STALLED);
  EXPECT_EQ(report.message, "hung in phase backward");
}

TEST(ExitReport, WithoutLastWordsTheLastLineIsTold) {
  const ExitReport report = Explain({.wait_status = Exited(1), .last_line = "out of luck"});
  EXPECT_EQ(report.message, "exited with code 1; its last line: out of luck");
}

TEST(ExitReport, TheLogsHeadAndItsLinesAboutProgressAreNotTold) {
  const auto ending = [](const std::string& line) {
    return Explain({.wait_status = Exited(1), .last_line = line}).message;
  };
  EXPECT_EQ(ending("2026-11-26T01:02:03.456Z error gp-trainer cannot map the file"),
            "exited with code 1; its last line: cannot map the file");
  EXPECT_EQ(ending("2026-11-26T01:02:03.456Z warn gp-trainer the disk is slow path=/x"),
            "exited with code 1; its last line: the disk is slow path=/x");
  EXPECT_EQ(ending("2026-11-26T01:02:03.456Z info gp-trainer progress step=12 loss=4.5"),
            "exited with code 1");
  for (const std::string line : {"terminate called", "Z", "Z Z", "aZ info gp-", "1Z gp-x",
                                 "info gp-trainer x", "a b gp-c d"}) {
    EXPECT_EQ(ending(line), "exited with code 1; its last line: " + line);
  }
}

TEST(ExitReport, NamesTheSignal) {
  const ExitReport report = Explain({.wait_status = Signalled(SIGSEGV)});
  EXPECT_EQ(report.cause, v1::EXIT_CAUSE_SIGNAL);
  EXPECT_EQ(report.code, SIGSEGV);
  EXPECT_EQ(report.message, "killed by SIGSEGV (Segmentation fault)");
}

TEST(ExitReport, ASigkillDuringAnOutOfMemoryKillIsOutOfMemory) {
  EXPECT_EQ(Explain({.wait_status = Signalled(SIGKILL), .memory_killed = true}).cause,
            v1::EXIT_CAUSE_OUT_OF_MEMORY);
  EXPECT_NE(Explain({.wait_status = Signalled(SIGKILL),
                     .memory_killed = true,
                     .memory_limit_bytes = uint64_t{8} << 30})
                .message.find("at its limit of 8.0 GiB; raise trainer.memory_max"),
            std::string::npos);
  EXPECT_NE(Explain({.wait_status = Signalled(SIGKILL),
                     .memory_killed = true,
                     .memory_limit_bytes = uint64_t{40} << 20})
                .message.find("at its limit of 40 MiB; raise trainer.memory_max"),
            std::string::npos);
  EXPECT_EQ(Explain({.wait_status = Signalled(SIGSEGV), .memory_killed = true}).cause,
            v1::EXIT_CAUSE_SIGNAL);
  EXPECT_EQ(Explain({.wait_status = Signalled(SIGKILL)}).cause, v1::EXIT_CAUSE_SIGNAL);
}

TEST(ExitReport, OurOwnKillIsNotTheTrainersFault) {
  const ExitReport report =
      Explain({.wait_status = Signalled(SIGKILL), .kill_reason = "it was too slow"});
  EXPECT_EQ(report.cause, v1::EXIT_CAUSE_ERROR);
  EXPECT_EQ(report.message, "killed: it was too slow");
  EXPECT_EQ(Explain({.wait_status = Signalled(SIGKILL), .told_stop = true}).cause,
            v1::EXIT_CAUSE_STOPPED);
}

}  // namespace
}  // namespace gp::agent
