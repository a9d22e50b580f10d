// ProcessUse: what processes use: cores that were busy since the previous measurement, and resident
// memory. From Linux's /proc. Owned by the Agent; not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "gp/v1/run.pb.h"

namespace gp::agent {

class ProcessUse {
 public:
  explicit ProcessUse(std::string proc = "/proc") : proc_(std::move(proc)) {}

  // Nullopt at the first measurement of a process, and when it has ended.
  std::optional<v1::ResourceUse> Measure(int pid, MonotonicTime now);
  // Forgets the other processes: their numbers may be given to new ones.
  void KeepOnly(const std::set<int>& pids);

 private:
  struct Measured {
    uint64_t ticks = 0;  // of processor time since the process' start
    MonotonicTime at{};
  };

  const std::string proc_;
  std::map<int, Measured> measured_;
};

}  // namespace gp::agent
