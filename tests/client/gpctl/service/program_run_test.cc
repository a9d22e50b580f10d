#include "client/gpctl/service/program_run.h"

#include <gtest/gtest.h>

#include "client/gpctl/service/process.h"
#include "client/gpctl/service/service_fixture.h"
#include "lib/base/eventually.h"

namespace gp::gpctl {
namespace {

class ProgramRunTest : public ServiceFixture {};

TEST_F(ProgramRunTest, RunProgramReadsOutputAndExitCode) {
  WriteScript(gpctl_.home() + "/talker", "echo \"$1 $2\"; exit 7\n");
  client::Interruption interruption;
  std::string output;
  const auto code = RunProgram({.program = gpctl_.home() + "/talker", .arguments = {"a b", "c"}},
                               interruption, [&](const std::string& piece) { output += piece; });
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(*code, 7);
  EXPECT_EQ(output, "a b c\n");
  EXPECT_EQ(RunProgram({.program = "/no/such"}, interruption, {}).status().code(),
            StatusCode::kNotFound);
}

// Interrupts when the program has printed "ready"; each further line that begins with "again" is a
// second request. Returns what it printed.
std::string Interrupted(const ProgramRun& run) {
  client::Interruption interruption;
  std::string output;
  const auto code = RunProgram(run, interruption, [&](const std::string& piece) {
    output += piece;
    if (piece.find("ready") != std::string::npos) interruption.Signal();
    if (piece.find("again") != std::string::npos) {
      EXPECT_TRUE(interruption.Signal());
    }
  });
  EXPECT_EQ(code.status().code(), StatusCode::kCancelled);
  return output;
}

TEST_F(ProgramRunTest, AnInterruptedProgramMayEndItself) {
  WriteScript(gpctl_.home() + "/tidy",
              "trap 'echo tidied; exit 0' TERM\necho ready\nwhile true; do sleep 0.01; done\n");
  const ProgramRun run{.program = gpctl_.home() + "/tidy", .grace = std::chrono::minutes(5)};
  EXPECT_EQ(Interrupted(run), "ready\ntidied\n");
}

TEST_F(ProgramRunTest, AProgramThatGoesOnIsKilledAfterTheGraceWithWhatItStarted) {
  WriteScript(gpctl_.home() + "/stubborn",
              "trap 'echo no' TERM\n(trap '' TERM; exec sleep 1000) &\necho ready $!\n"
              "while true; do wait; done\n");
  const std::string output = Interrupted(
      {.program = gpctl_.home() + "/stubborn", .grace = std::chrono::milliseconds(300)});
  EXPECT_EQ(output.substr(output.find('\n') + 1), "no\n");
  const int started = std::stoi(output.substr(6));  // a grandchild, whose end nobody waits for
  EXPECT_TRUE(Eventually([&] { return !IdentifyProcess(started).ok(); })) << output;
}

TEST_F(ProgramRunTest, AProgramWithoutOutputIsKilledToo) {
  WriteScript(gpctl_.home() + "/silent",
              "trap '' TERM\necho ready\nexec >&-\nwhile true; do sleep 0.01; done\n");
  Interrupted({.program = gpctl_.home() + "/silent", .grace = std::chrono::milliseconds(100)});
  Interrupted({.program = gpctl_.home() + "/silent"});
}

TEST_F(ProgramRunTest, ASecondRequestKillsAtOnce) {
  WriteScript(gpctl_.home() + "/slow",
              "trap 'echo again' TERM\necho ready\nwhile true; do sleep 0.01; done\n");
  const ProgramRun run{.program = gpctl_.home() + "/slow", .grace = std::chrono::hours(1)};
  EXPECT_EQ(Interrupted(run), "ready\nagain\n");
}

TEST_F(ProgramRunTest, WithoutAGraceItIsKilled) {
  WriteScript(gpctl_.home() + "/any",
              "trap 'echo no' TERM\necho ready\nwhile true; do sleep 0.01; done\n");
  EXPECT_EQ(Interrupted({.program = gpctl_.home() + "/any"}), "ready\n");
}

}  // namespace
}  // namespace gp::gpctl
