// Process: a daemon under test, which can be started, killed, paused and awaited. It dies with the
// test. Not thread-safe. Start it from a thread that lives as long as the process, because the
// kernel kills the process when that thread ends.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace gp::testing {

class Process {
 public:
  // Runs `arguments[0]` with `environment` ("NAME=value") added to the test's own; output is
  // appended to `log_path`.
  Process(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
          const std::string& log_path);
  ~Process() { Kill(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int pid() const { return pid_; }
  bool Running();
  // Sends SIGKILL; returns once the process is reaped.
  void Kill();
  void Signal(int signal);
  // The exit code, or -signal; nullopt if the process still runs after `timeout`.
  std::optional<int> Wait(std::chrono::milliseconds timeout);

 private:
  bool Reap(bool block);

  int pid_ = -1;
  std::optional<int> outcome_;
};

// The processes whose parent is `pid`.
std::vector<int> ChildrenOf(int pid);
// The peak memory of the process (VmHWM); fails the test if the kernel does not report it.
int64_t PeakMegabytesOf(int pid);
// True while a process with this id exists and is not a zombie.
bool Alive(int pid);

}  // namespace gp::testing
