// Backoff: capped exponential delays before a retry, with jitter (BackoffDelay: the agent's
// reconnect) or without (BackoffCeiling: restarts of daemons and samplers, a save that must not
// fail). The waits between the epochs of a failed run are computed in
// coordinator/scheduler/recovery.cc instead, from the run file's `retries`. Values and pure
// functions; thread-safe.
#pragma once

#include <chrono>

namespace gp {

struct BackoffOptions {
  std::chrono::nanoseconds initial = std::chrono::milliseconds(100);
  std::chrono::nanoseconds max = std::chrono::seconds(10);
  double multiplier = 2.0;
};

// The longest delay before retry number `attempt` (0 is the first retry): initial *
// multiplier^attempt, capped at max.
std::chrono::nanoseconds BackoffCeiling(const BackoffOptions& options, int attempt);

// A delay between half the ceiling and the ceiling ("equal jitter"); `unit_random` is uniform in
// [0, 1).
std::chrono::nanoseconds BackoffDelay(const BackoffOptions& options, int attempt,
                                      double unit_random);

}  // namespace gp
