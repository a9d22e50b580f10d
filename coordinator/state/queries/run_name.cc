#include "coordinator/state/queries/run_name.h"

namespace gp::coordinator {
namespace {

constexpr size_t kNameBytesMax = 63;

std::string Numbered(const std::string& name, uint64_t number) {
  const std::string end = fmt::format("-{}", number);
  return name.substr(0, kNameBytesMax - end.size()) + end;
}

bool IsTaken(const Cluster& cluster, const std::string& run_namespace, const std::string& name) {
  return cluster.LiveRunsNamed(run_namespace, name) != nullptr ||
         cluster.FindRun(RunId(name)) != nullptr;
}

}  // namespace

std::string WhyNameIsTaken(const Cluster& cluster, const std::string& run_namespace,
                           const std::string& name) {
  if (const std::set<RunId>* named = cluster.LiveRunsNamed(run_namespace, name)) {
    return fmt::format("the name '{}' belongs to run {}, which has not ended", name,
                       *named->begin());
  }
  if (cluster.FindRun(RunId(name)) != nullptr) return fmt::format("'{}' is the id of a run", name);
  return "";
}

// Finds a free number in O(log n) lookups: doubles the number until it is free, then bisects
// between the last taken and the first free one.
std::string FreeRunName(const Cluster& cluster, const std::string& run_namespace,
                        const std::string& wanted) {
  const auto is_taken = [&](const std::string& name) {
    return IsTaken(cluster, run_namespace, name);
  };
  if (!is_taken(wanted)) return wanted;
  uint64_t taken = 1;
  uint64_t free = 2;
  while (is_taken(Numbered(wanted, free))) {
    taken = free;
    free *= 2;
  }
  while (free - taken > 1) {
    const uint64_t middle = taken + (free - taken) / 2;
    (is_taken(Numbered(wanted, middle)) ? taken : free) = middle;
  }
  return Numbered(wanted, free);
}

}  // namespace gp::coordinator
