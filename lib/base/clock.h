// Clock: the source of time for every decision that depends on time. Logic takes a Clock& or a time
// point; tests pass a FakeClock. Thread-safe.
#pragma once

#include <chrono>

namespace gp {

// CLOCK_BOOTTIME: it continues during suspend, so leases expire while a laptop sleeps. The type is
// steady_clock's, but steady_clock::now() reads CLOCK_MONOTONIC, which stops during suspend: do not
// compare the two, and do not pass a MonotonicTime to CondVar::WaitUntil.
using MonotonicTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
// Microseconds since 1970, UTC. For records that people read, and for dates on which something
// expires; never for other decisions.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonotonicTime Now() const = 0;
  virtual WallTime WallNow() const = 0;
};

// The machine's clock. Lives for the whole process.
Clock& SystemClock();

// When this process was started, on SystemClock's monotonic clock, exact to a kernel tick (10 ms).
// The current time when /proc cannot be read.
MonotonicTime ProcessStart();

}  // namespace gp
