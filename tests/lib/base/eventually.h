// Waits in a test for an effect of another process or thread. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace gp {

// Longer than anything should take, even on a busy machine: a wait that reaches this limit has
// failed. Tests of time limits use their own bounds.
inline constexpr std::chrono::seconds kPatience{120};

// Polls until `condition` holds or `timeout` has passed; returns whether it held.
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
