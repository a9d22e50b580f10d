// Waiting in a test for what another process or thread does. May be called from any thread.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace gp {

// Longer than anything takes, on a machine that does much else besides: who waits for so long waits
// in vain. What a test promises about time it says itself.
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
