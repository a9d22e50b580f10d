// The two kinds of time that the core gets as arguments; it reads no clock. The same types as in
// base/clock.h.
#pragma once

#include <chrono>

namespace gp::coordinator {

// For decisions: CLOCK_BOOTTIME, which keeps running during suspend and is never set.
using Instant = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
// For people, and for values that outlive a restart; may be set forward or back.
using Timestamp = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

struct Now {
  Instant instant;
  Timestamp wall;
  // How long agents' messages may have waited to be read (service/input_probe.h).
  std::chrono::nanoseconds unread{0};
};

}  // namespace gp::coordinator
