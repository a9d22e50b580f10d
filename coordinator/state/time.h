// The two kinds of time the core is handed; it reads no clock. The same types as in base/clock.h.
#pragma once

#include <chrono>

namespace gp::coordinator {

// For decisions: counts through suspend, never steps.
using Instant = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
// For people and for what must outlive a restart; may step in either direction.
using Timestamp = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

struct Now {
  Instant instant;
  Timestamp wall;
  // What came in may have waited for so long without being read.
  std::chrono::nanoseconds unread{0};
};

}  // namespace gp::coordinator
