// The signals that ask a program to stop, handled by ordinary code instead of a signal handler, so
// that this code may lock and log. main blocks them before any other thread exists, because threads
// inherit the mask. Then a thread waits for them, or a StopSignals calls back. Each signal reaches
// only one waiter.
#pragma once

#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"

namespace gp {

inline const std::vector<int> kStopSignals = {SIGTERM, SIGINT};

// Blocks the stop signals for this thread and for threads that it makes later.
void BlockStopSignals(const std::vector<int>& numbers = kStopSignals);

// Waits until one arrives and returns its name, such as "SIGTERM". REQUIRES: they are blocked.
std::string AwaitStopSignal(const std::vector<int>& numbers = kStopSignals);

// Calls `stop` with the name of each signal that arrives, from its own thread, until destruction.
// REQUIRES: they are blocked.
class StopSignals {
 public:
  explicit StopSignals(std::function<void(const std::string& name)> stop,
                       const std::vector<int>& numbers = kStopSignals);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  void Watch(const std::function<void(const std::string& name)>& stop) const;

  const FileDescriptor arrivals_;
  const FileDescriptor end_;  // readable once the thread is to end
  std::thread thread_;
};

}  // namespace gp
