#include "worker/agent/trainer_process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/machine/usable_cores.h"

namespace gp::agent {
namespace {

// Runs a shell script in place of the trainer.
StatusOr<std::unique_ptr<TrainerProcess>> RunScript(const std::string& script,
                                                    std::vector<int> cores = {}) {
  return TrainerProcess::Spawn({.program = "/bin/sh",
                                .arguments = {"-c", script},
                                .environment = {"PATH=/usr/bin:/bin", "GIVEN=yes"},
                                .cores = std::move(cores)},
                               "test");
}

bool WaitForEnd(TrainerProcess& process) {
  pollfd entry{process.exit_descriptor(), POLLIN, 0};
  return poll(&entry, 1, 30'000) == 1;
}

struct Outcome {
  int wait_status = 0;
  std::vector<std::string> lines;
};

Outcome Finish(const std::string& script, std::vector<int> cores = {}) {
  auto process = RunScript(script, std::move(cores));
  EXPECT_TRUE(process.ok()) << process.status();
  if (!process.ok()) return {};
  EXPECT_TRUE(WaitForEnd(**process));
  const auto status = (*process)->Reap();
  EXPECT_TRUE(status.has_value());
  return {status.value_or(-1), (*process)->ReadLines()};
}

TEST(TrainerProcess, TellsExitCodeAndLinesOfBothOutputs) {
  const Outcome outcome = Finish("echo out; echo err >&2; printf unfinished; exit 5");
  EXPECT_TRUE(WIFEXITED(outcome.wait_status));
  EXPECT_EQ(WEXITSTATUS(outcome.wait_status), 5);
  EXPECT_EQ(outcome.lines, (std::vector<std::string>{"out", "err", "unfinished"}));
}

TEST(TrainerProcess, SeesOnlyTheEnvironmentItIsGiven) {
  setenv("SECRET_OF_THE_AGENT", "x", 1);
  EXPECT_EQ(Finish("echo $GIVEN; echo \"[$SECRET_OF_THE_AGENT]\"").lines,
            (std::vector<std::string>{"yes", "[]"}));
}

TEST(TrainerProcess, HasTheLinkAndNoOtherDescriptor) {
  const Outcome outcome = Finish("ls /proc/$$/fd; true");
  EXPECT_EQ(outcome.lines, (std::vector<std::string>{"0", "1", "2", "3"}));
}

TEST(TrainerProcess, CannotGainPrivilegesAndRunsOnItsCores) {
  const int core = UsableCores().value().front();
  const Outcome outcome =
      Finish("grep -E '^(NoNewPrivs|Cpus_allowed_list)' /proc/$$/status | tr -s '\\t' ' '", {core});
  EXPECT_EQ(outcome.lines, (std::vector<std::string>{
                               "NoNewPrivs: 1", "Cpus_allowed_list: " + std::to_string(core)}));
}

TEST(TrainerProcess, TheWholeGroupIsSignalled) {
  auto process = RunScript("sleep 100 & echo started; wait");
  ASSERT_TRUE(process.ok()) << process.status();
  pollfd entry{(*process)->output_descriptor(), POLLIN, 0};
  ASSERT_EQ(poll(&entry, 1, 30'000), 1);
  EXPECT_FALSE((*process)->Reap().has_value());
  (*process)->Signal(SIGTERM);
  ASSERT_TRUE(WaitForEnd(**process));
  const auto status = (*process)->Reap();
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(WTERMSIG(*status), SIGTERM);
  // The pipe closes only once the grandchild has ended too.
  pollfd closed{(*process)->output_descriptor(), POLLIN, 0};
  (*process)->ReadLines();
  if ((*process)->output_descriptor() >= 0) {
    closed.fd = (*process)->output_descriptor();
    EXPECT_EQ(poll(&closed, 1, 30'000), 1);
  }
}

TEST(TrainerProcess, AMissingOrUnexecutableProgramIsNamed) {
  const auto missing = TrainerProcess::Spawn({.program = "/nonexistent/gp-trainer"}, "test");
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_NE(Message(missing.status()).find("/nonexistent/gp-trainer"), std::string::npos);
  const auto forbidden = TrainerProcess::Spawn({.program = "/etc/passwd"}, "test");
  EXPECT_EQ(forbidden.status().code(), StatusCode::kPermissionDenied);
}

TEST(TrainerProcess, ItsLinkEndsWithIt) {
  auto process = RunScript("exit 0");
  ASSERT_TRUE(process.ok()) << process.status();
  const auto message = (*process)->channel().Receive(std::chrono::seconds(30));
  EXPECT_EQ(message.status().code(), StatusCode::kUnavailable);
}

TEST(TrainerProcess, DestroyingItLeavesNoProcess) {
  auto process = RunScript("exec sleep 100");
  ASSERT_TRUE(process.ok()) << process.status();
  const int pid = (*process)->pid();
  process->reset();
  EXPECT_EQ(kill(pid, 0), -1);
}

}  // namespace
}  // namespace gp::agent
