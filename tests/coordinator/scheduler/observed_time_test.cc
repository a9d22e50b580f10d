// Goal: an age is never larger than the time that passed, whatever the wall clock is set to.
#include "coordinator/scheduler/observed_time.h"

#include <gtest/gtest.h>

namespace gp::coordinator {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

class ObservedTimeTest : public ::testing::Test {
 protected:
  // The monotonic clock, and the wall clock, which starts at 1000 h.
  nanoseconds Note(nanoseconds passed, nanoseconds shown) {
    return time_.Note({Instant(passed), At(shown)});
  }
  static Timestamp At(nanoseconds shown) {
    return Timestamp(hours(1000)) + std::chrono::duration_cast<std::chrono::microseconds>(shown);
  }

  ObservedTime time_;
};

TEST_F(ObservedTimeTest, AgesFollowAClockThatIsNotSet) {
  EXPECT_EQ(Note(hours(0), hours(0)), nanoseconds(0));
  EXPECT_EQ(time_.Since(At(hours(-5))), hours(5)) << "also what was before";
  EXPECT_EQ(Note(hours(1), hours(1) + seconds(2)), nanoseconds(0));
  EXPECT_EQ(time_.Since(At(hours(-5))), hours(6) + seconds(2));
  EXPECT_EQ(time_.watched(), hours(1));
  EXPECT_EQ(time_.Since(At(hours(3))), seconds(2) - hours(2));
}

TEST_F(ObservedTimeTest, WhatTheClockSkipsDoesNotCount) {
  Note(hours(0), hours(0));
  EXPECT_EQ(Note(minutes(1), hours(100) + minutes(1)), hours(100));
  EXPECT_EQ(time_.Since(At(hours(0))), minutes(1));
  EXPECT_EQ(time_.Since(At(hours(-5))), hours(5) + minutes(1));
  Note(minutes(3), hours(100) + minutes(3));
  EXPECT_EQ(time_.Since(At(hours(100) + minutes(1))), minutes(2)) << "it ended after the jump";
}

TEST_F(ObservedTimeTest, AClockThatIsSetRightAgainCountsAsBefore) {
  Note(hours(0), hours(0));
  Note(hours(1), hours(101));
  Note(hours(2), hours(102));
  EXPECT_EQ(Note(hours(3), hours(3)), nanoseconds(0));
  EXPECT_EQ(time_.Since(At(hours(0))), hours(3));
  Note(hours(200), hours(200));
  EXPECT_EQ(time_.Since(At(hours(0))), hours(200));
}

TEST_F(ObservedTimeTest, AClockThatIsSetRightInTwoSteps) {
  Note(hours(0), hours(0));
  Note(hours(1), hours(101));
  Note(hours(2), hours(52));
  EXPECT_EQ(time_.Since(At(hours(0))), hours(2));
  Note(hours(3), hours(3) - minutes(30));
  EXPECT_EQ(time_.Since(At(hours(0))), hours(3) - minutes(30)) << "it is behind now";
  EXPECT_EQ(Note(hours(4), hours(4)), minutes(30));
  EXPECT_EQ(time_.Since(At(hours(0))), hours(4) - minutes(30)) << "less than it was, never more";
}

TEST_F(ObservedTimeTest, AClockThatShowsTheYear9999DoesNotOverflow) {
  Note(hours(0), hours(0));
  const Timestamp far = std::chrono::sys_days(std::chrono::year(9999) / 1 / 1);
  time_.Note({Instant(hours(1)), far});
  EXPECT_EQ(time_.Since(At(hours(0))), hours(1));
}

TEST_F(ObservedTimeTest, SeveralJumpsAddUp) {
  Note(hours(0), hours(0));
  for (int i = 1; i <= 200; ++i) Note(hours(i), hours(11 * i));
  EXPECT_LE(time_.Since(At(hours(0))), hours(200));
  EXPECT_GE(time_.Since(At(hours(0))), hours(60)) << "old jumps are merged";
}

}  // namespace
}  // namespace gp::coordinator
