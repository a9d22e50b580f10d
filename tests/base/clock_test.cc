#include "base/clock.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

TEST(Clock, TheMachinesClockNeverGoesBack) {
  const MonotonicTime before = SystemClock().Now();
  EXPECT_LE(before, SystemClock().Now());
}

TEST(Clock, WallTimeIsOfThisCentury) {
  using namespace std::chrono_literals;
  EXPECT_GT(SystemClock().WallNow().time_since_epoch(), std::chrono::years(50));
}

}  // namespace
}  // namespace gp
