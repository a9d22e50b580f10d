// Clock: the only door to time. Logic takes a Clock& or a time point; tests pass a FakeClock.
// Thread-safe.
#pragma once

#include <chrono>

namespace gp {

// Counts through suspend (CLOCK_BOOTTIME), so that a laptop that slept has expired leases.
using MonotonicTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
// Microseconds since 1970, UTC. For records that people read, never for decisions.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonotonicTime Now() const = 0;
  virtual WallTime WallNow() const = 0;
};

// The machine's clock. Lives for the whole process.
Clock& SystemClock();

// When this process was started, as SystemClock counts, to a tick of the kernel's (10 ms); now
// where /proc does not say.
MonotonicTime ProcessStart();

}  // namespace gp
