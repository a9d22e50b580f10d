#include "base/machine/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sstream>

#include "base/file.h"
#include "base/machine/control_group.h"

namespace gp {
namespace {

constexpr uint64_t kFigureBytesMax = 4096;

std::string TextOf(const ControlGroup& group, const std::string& name) {
  const auto text = ReadFile(JoinPath(group.directory, name), kFigureBytesMax);
  return text.ok() ? *text : "";
}

// The group's CPU quota divided by its period, rounded down: a number of cores. Nullopt if the
// group has no limit, which the files show as "max 100000" (v2) or -1 (v1).
std::optional<int64_t> WholeCores(const ControlGroup& group) {
  std::string figures = TextOf(group, "cpu.max");
  if (group.version == ControlGroup::Version::kV1) {
    figures = TextOf(group, "cpu.cfs_quota_us") + " " + TextOf(group, "cpu.cfs_period_us");
  }
  int64_t quota = 0, period = 0;
  std::istringstream words(figures);
  if (!(words >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

StatusOr<std::vector<int>> UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    return ErrnoStatus(errno, "read the CPU affinity of", "this process");
  }
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

int CoresWithinLimit(int cores, const std::string& root) {
  int64_t least = cores;
  for (const ControlGroup& group : ControlGroups("cpu", root)) {
    least = std::min(least, WholeCores(group).value_or(least));
  }
  return static_cast<int>(std::max(least, int64_t{1}));
}

int CountUsableCores() {
  const auto cores = UsableCores();
  return cores.ok() ? CoresWithinLimit(static_cast<int>(cores->size())) : 1;
}

}  // namespace gp
