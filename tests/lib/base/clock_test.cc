#include "base/clock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gp {
namespace {

TEST(Clock, TheMachinesClockNeverGoesBack) {
  const MonotonicTime before = SystemClock().Now();
  EXPECT_LE(before, SystemClock().Now());
}

// An object that is made before the clock's first use would be destroyed after the clock.
struct ReadsTheClockAtExit {
  ~ReadsTheClockAtExit() { _exit(SystemClock().Now() > MonotonicTime{} ? 0 : 1); }
};

TEST(ClockDeathTest, TheMachinesClockOutlivesStaticObjects) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static ReadsTheClockAtExit made_before_the_clock;
        SystemClock();
        exit(2);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(Clock, WallTimeIsOfThisCentury) {
  using namespace std::chrono_literals;
  EXPECT_GT(SystemClock().WallNow().time_since_epoch(), std::chrono::years(50));
}

TEST(ProcessStart, LiesBeforeNowAndAfterTheParents) {
  const MonotonicTime start = ProcessStart();
  EXPECT_LE(start, SystemClock().Now());
  EXPECT_EQ(start, ProcessStart());
  const MonotonicTime before_child = SystemClock().Now();
  const pid_t child = fork();
  if (child == 0) {
    // The start time has a resolution of 10 ms. A larger difference means that the wrong field of
    // /proc/self/stat was read.
    _exit(ProcessStart() + std::chrono::seconds(1) >= before_child ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "a child that has just been made is older than its making";
}

}  // namespace
}  // namespace gp
