// FakeClock: time that a test moves by hand. Belongs to one thread.
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
  // Like an administrator or NTP.
  void StepWall(std::chrono::microseconds by) { wall_ += by; }

 private:
  MonotonicTime now_{std::chrono::hours(1)};
  WallTime wall_{std::chrono::hours(24 * 365 * 56)};
};

}  // namespace gp
