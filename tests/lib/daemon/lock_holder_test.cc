#include "daemon/lock_holder.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace gp::daemon {
namespace {

LockHolder Here() {
  return {.pid = 4,
          .host = "ana",
          .boot_id = "b-1",
          .pid_namespace = "pid:[1]",
          .since = "2026-11-25T19:04:49Z"};
}

TEST(LockHolder, IsReadBackAsItWasWritten) {
  const LockHolder read = LockHolder::Parse(Here().FileText());
  EXPECT_EQ(read.FileText(), Here().FileText());
  EXPECT_EQ(LockHolder::Parse("").pid, 0);
  EXPECT_EQ(LockHolder::Parse("no process").pid, 0);
}

TEST(LockHolder, SaysWhereItRuns) {
  EXPECT_EQ(Here().Description(Here()), "process 4, since 2026-11-25T19:04:49Z");
  LockHolder container = Here();
  container.host = "0f3a";
  container.pid_namespace = "pid:[2]";
  EXPECT_EQ(container.Description(Here()),
            "process 4 elsewhere: in another container of this machine, host name 0f3a, since "
            "2026-11-25T19:04:49Z");
  EXPECT_TRUE(container.IsElsewhere(Here()));
  EXPECT_FALSE(container.IsOnAnotherHost(Here()));
  LockHolder other = Here();
  other.host = "login-2";
  other.boot_id = "b-2";
  EXPECT_EQ(other.Description(Here()),
            "process 4 elsewhere: on host login-2, since 2026-11-25T19:04:49Z");
  EXPECT_TRUE(other.IsElsewhere(Here()));
}

TEST(LockHolder, OfAnOlderVersionIsAProcessNumberAlone) {
  const LockHolder older = LockHolder::Parse("42");
  EXPECT_EQ(older.Description(Here()), "process 42");
  EXPECT_FALSE(older.IsElsewhere(Here()));
}

TEST(LockHolder, OfTheSameHostBeforeItsRestartIsNotElsewhere) {
  LockHolder before = Here();
  before.boot_id = "b-0";
  EXPECT_FALSE(before.IsOnAnotherHost(Here()));
}

TEST(LockHolder, IsThisProcess) {
  const LockHolder self = LockHolder::Self(SystemClock());
  EXPECT_EQ(self.pid, getpid());
  EXPECT_FALSE(self.host.empty());
  EXPECT_FALSE(self.boot_id.empty());
  EXPECT_FALSE(self.pid_namespace.empty());
}

// This text is shown to users, but another process writes it.
TEST(LockHolder, KeepsControlCharactersFromTheScreen) {
  const std::string text = LockHolder::Parse("4 host=a\x1b[2J boot_id=x").host;
  EXPECT_EQ(text, "a_[2J");
}

}  // namespace
}  // namespace gp::daemon
