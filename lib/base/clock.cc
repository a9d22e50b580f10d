#include "base/clock.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "base/file.h"

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
  // Never destroyed: a thread that hangs in the storage may outlive static destruction.
  static MachineClock& clock = *new MachineClock;
  return clock;
}

// Reads the start time, field 22 of /proc/self/stat (proc(5)). Skips to the last ')' first, because
// field 2 is a name in parentheses that may contain spaces.
MonotonicTime ProcessStart() {
  constexpr int kFieldsAfterName = 20;
  const std::string line = ReadFile("/proc/self/stat").value_or("");
  std::istringstream fields(line.substr(std::min(line.rfind(')') + 1, line.size())));
  std::string ticks;
  for (int field = 0; field < kFieldsAfterName; ++field) fields >> ticks;
  if (!fields) return SystemClock().Now();
  const double seconds = std::stod(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return MonotonicTime(std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9)));
}

}  // namespace gp
