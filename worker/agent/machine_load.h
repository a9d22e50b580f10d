// MachineLoad: how busy the node's machine is: the load average of the last minute, and swap
// traffic in bytes per second since the previous reading. From Linux's /proc. Owned by the Agent;
// not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "gp/v1/run.pb.h"

namespace gp::agent {

class MachineLoad {
 public:
  explicit MachineLoad(std::string proc = "/proc") : proc_(std::move(proc)) {}

  // Reads the files again when the newest reading is 5 s old. Numbers that the system does not
  // report are 0.
  const v1::MachineLoad& Read(MonotonicTime now);

 private:
  const std::string proc_;
  v1::MachineLoad load_;
  MonotonicTime read_at_{};
  std::optional<uint64_t> swapped_pages_;  // in the newest reading; nullopt: it failed
};

}  // namespace gp::agent
