// FakeClock: a clock that advances only when a test says so. Not thread-safe.
#pragma once

#include "base/clock.h"

namespace gp {

class FakeClock final : public Clock {
 public:
  MonotonicTime Now() const override { return now_; }
  WallTime WallNow() const override { return wall_; }

  void Advance(std::chrono::nanoseconds duration) {
    now_ += duration;
    wall_ += std::chrono::duration_cast<std::chrono::microseconds>(duration);
  }
  // Sets the wall clock, as an administrator or NTP does.
  void StepWall(std::chrono::microseconds by) { wall_ += by; }

 private:
  MonotonicTime now_{std::chrono::hours(1)};
  WallTime wall_{std::chrono::hours(24 * 365 * 56)};
};

}  // namespace gp
