// StopSignals: turns SIGTERM and SIGINT into a call, from a thread of its own, so that the callee
// may lock and log. Make one in main before any other thread exists: the threads that follow
// inherit the blocked signals.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace gp::engine {

// Blocks both signals for this thread and those it will make.
void BlockStopSignals();

class StopSignals {
 public:
  // Calls `stop` with the signal's name for each that arrives, until destruction. REQUIRES:
  // BlockStopSignals was called.
  explicit StopSignals(std::function<void(const std::string& signal)> stop);

 private:
  std::jthread thread_;
};

}  // namespace gp::engine
