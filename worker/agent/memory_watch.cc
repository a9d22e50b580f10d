#include "worker/agent/memory_watch.h"

#include <charconv>
#include <string>

#include "base/file.h"

namespace gp::agent {

uint64_t OutOfMemoryKills() {
  const std::string vmstat = ReadFile("/proc/vmstat", 1 << 20).value_or("");
  const std::string key = "\noom_kill ";
  const size_t position = vmstat.find(key);
  if (position == std::string::npos) return 0;
  uint64_t kills = 0;
  std::from_chars(vmstat.data() + position + key.size(), vmstat.data() + vmstat.size(), kills);
  return kills;
}

}  // namespace gp::agent
