// How much memory this process may still take: the least of what the machine has to spare, what its
// control groups allow and what its address space may grow by. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace gp {

struct AvailableMemory {
  int64_t bytes = 0;
  std::string limit;  // which one: "MemAvailable", "memory.max of /run.slice", "RLIMIT_AS"
};

// Reads below `root` (proc/ and sys/fs/cgroup/), "/" unless a test says otherwise. What cannot be
// read does not limit.
AvailableMemory ReadAvailableMemory(const std::string& root = "/");

// The same with nobody else using anything: what this process could never exceed.
AvailableMemory ReadMemoryLimit(const std::string& root = "/");

}  // namespace gp
