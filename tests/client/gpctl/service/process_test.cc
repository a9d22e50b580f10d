#include "client/gpctl/service/process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "client/gpctl/service/service_fixture.h"

namespace gp::gpctl {
namespace {

using std::chrono::milliseconds;

class ProcessTest : public ServiceFixture {};

TEST_F(ProcessTest, AProcessIsKnownByMoreThanItsNumber) {
  const auto self = IdentifyProcess(getpid());
  ASSERT_TRUE(self.ok());
  EXPECT_TRUE(IsAlive(*self));
  ProcessIdentity other = *self;
  ++other.start_time;
  EXPECT_FALSE(IsAlive(other));
  other = *self;
  other.program = "/bin/other";
  EXPECT_FALSE(IsAlive(other));
  EXPECT_FALSE(IsAlive({}));
  // StopProcess must not stop this test's own process.
  EXPECT_TRUE(StopProcess(other, milliseconds(10)).ok());
}

TEST_F(ProcessTest, ArgumentsAreWhatAProcessWasStartedWith) {
  const auto process = SpawnDetached({.program = "/bin/sleep", .arguments = {"60"}});
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_TRUE(HasArgument(process->pid, "60"));
  EXPECT_FALSE(HasArgument(process->pid, "6"));
  EXPECT_TRUE(StopProcess(*process, milliseconds(1000)).ok());
  EXPECT_FALSE(HasArgument(process->pid, "60"));
}

TEST_F(ProcessTest, SpawningTellsWhyAProgramCannotStart) {
  const auto missing = SpawnDetached({.program = "/no/such/program"});
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  std::ofstream(gpctl_.home() + "/plain") << "text";
  EXPECT_EQ(SpawnDetached({.program = gpctl_.home() + "/plain"}).status().code(),
            StatusCode::kPermissionDenied);
}

TEST_F(ProcessTest, FilesOfASpawnedProgramAreItsUsersAlone) {
  ASSERT_TRUE(SpawnDetached(
                  {.program = "/bin/sh",
                   .arguments = {"-c", "cd " + gpctl_.home() + " && mkdir d && echo text >d/file"}})
                  .ok());
  const std::string path = gpctl_.home() + "/d/file";
  ASSERT_TRUE(Eventually([&] { return FileSize(path).value_or(0) > 0; }));
  EXPECT_FALSE(OthersMay(path));
  EXPECT_FALSE(OthersMay(gpctl_.home() + "/d"));
}

TEST_F(ProcessTest, AProcessThatIgnoresTermIsKilled) {
  WriteScript(gpctl_.home() + "/stubborn",
              "trap '' TERM\necho ready\nwhile :; do sleep 0.02; done\n");
  const std::string log = gpctl_.home() + "/log";
  const auto process = SpawnDetached({.program = gpctl_.home() + "/stubborn", .log_path = log});
  ASSERT_TRUE(process.ok());
  ASSERT_TRUE(Eventually([&] { return FileSize(log).value_or(0) > 0; }));
  EXPECT_TRUE(StopProcess(*process, milliseconds(50)).ok());
  EXPECT_FALSE(IsAlive(*process));
}

}  // namespace
}  // namespace gp::gpctl
