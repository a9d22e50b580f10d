#include "base/clock.h"

#include <time.h>

namespace gp {
namespace {

class MachineClock final : public Clock {
 public:
  MonotonicTime Now() const override {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return MonotonicTime(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
  }
  WallTime WallNow() const override {
    return std::chrono::time_point_cast<std::chrono::microseconds>(
        std::chrono::system_clock::now());
  }
};

}  // namespace

Clock& SystemClock() {
  static MachineClock clock;
  return clock;
}

}  // namespace gp
