// The memory that this process may still allocate: the smallest of the machine's available memory,
// the room in its control groups, and the room in its address space. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace gp {

struct AvailableMemory {
  int64_t bytes = 0;  // INT64_MAX when there is no limit
  // The name of the smallest limit, such as "MemAvailable", "memory.max of /run.slice" or
  // "RLIMIT_AS"; "no limit" if there is none.
  std::string limit;
};

// Reads below `root` (proc/ and sys/fs/cgroup/), which only tests change. A file that cannot be
// read sets no limit.
AvailableMemory ReadAvailableMemory(const std::string& root = "/");

// The same limits as if no memory were in use: this process can never have more.
AvailableMemory ReadMemoryLimit(const std::string& root = "/");

}  // namespace gp
