// MachineLoad: how busy the node's machine is: the load average of the last minute, and since the
// previous reading the busy cores and the swap traffic in bytes per second; its memory. From
// Linux's /proc. Owned by the Agent; not thread-safe.
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
  // report are 0; busy cores that are not known, as at the first reading, are -1.
  const v1::MachineLoad& Read(MonotonicTime now);
  // Whether Read would read the files.
  bool IsOld(MonotonicTime now) const;

 private:
  const std::string proc_;
  v1::MachineLoad load_;
  MonotonicTime read_at_{};
  // In the newest reading; nullopt: it failed.
  std::optional<uint64_t> swapped_pages_;
  std::optional<uint64_t> busy_ticks_;
};

}  // namespace gp::agent
