#include "worker/agent/load/process_use.h"

#include <unistd.h>

#include <sstream>

#include "base/file.h"

namespace gp::agent {
namespace {

constexpr uint64_t kStatBytesMax = 1 << 16;

struct ProcessStat {
  uint64_t ticks = 0;
  uint64_t resident_pages = 0;
};

// Reads the fields of proc_pid_stat(5) that follow the name of the program, which may contain
// spaces and parentheses.
std::optional<ProcessStat> Parse(const std::string& stat) {
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(name_end + 1));
  ProcessStat parsed;
  std::string field;
  for (int number = 3; number <= 24 && fields >> field; ++number) {  // 3: the state
    const auto value = [&field] { return std::strtoull(field.c_str(), nullptr, 10); };
    if (number == 14 || number == 15) parsed.ticks += value();  // utime, stime
    if (number == 24) {
      parsed.resident_pages = value();
      return parsed;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<v1::ResourceUse> ProcessUse::Measure(int pid, MonotonicTime now) {
  const std::string path = JoinPath(proc_, std::to_string(pid) + "/stat");
  const auto stat = Parse(ReadFile(path, kStatBytesMax).value_or(""));
  if (!stat) {
    measured_.erase(pid);
    return std::nullopt;
  }
  const auto before = measured_.find(pid);
  std::optional<v1::ResourceUse> use;
  if (before != measured_.end() && now > before->second.at && stat->ticks >= before->second.ticks) {
    const double seconds = std::chrono::duration<double>(now - before->second.at).count();
    const double busy = static_cast<double>(stat->ticks - before->second.ticks) /
                        static_cast<double>(sysconf(_SC_CLK_TCK));
    use.emplace();
    use->set_cores(busy / seconds);
    use->set_memory_bytes(stat->resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  }
  measured_[pid] = {stat->ticks, now};
  return use;
}

void ProcessUse::KeepOnly(const std::set<int>& pids) {
  std::erase_if(measured_, [&pids](const auto& entry) { return !pids.contains(entry.first); });
}

}  // namespace gp::agent
