// Waits in a test for the effect of another process or thread. May be called from any thread.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace gp {

// Longer than anything takes, even on a busy machine: a wait that reaches this limit has failed.
// Tests state their own promises about time.
inline constexpr std::chrono::seconds kPatience{120};

// Asks until `condition` holds or `timeout` has passed; whether it held.
inline bool Eventually(const std::function<bool()>& condition,
                       std::chrono::nanoseconds timeout = kPatience) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace gp
