#include "coordinator/state/run_counts.h"

#include "coordinator/state/run_reference.h"

namespace gp::coordinator {

void RunCounts::Replace(const Run* before, const Run& after) {
  if (before != nullptr && before->state == after.state) return;
  if (before != nullptr) Add(*before, -1);
  Add(after, 1);
}

RunCounts::ByState RunCounts::In(const std::optional<std::set<std::string>>& namespaces) const {
  ByState sums;
  for (const auto& [name, states] : by_namespace_) {
    if (namespaces && !namespaces->contains(name)) continue;
    for (const auto& [state, count] : states) sums[state] += count;
  }
  return sums;
}

void RunCounts::Add(const Run& run, int64_t difference) {
  ByState& states = by_namespace_[NamespaceOf(run)];
  int64_t& count = states[run.state];
  count += difference;
  if (count == 0) states.erase(run.state);
}

}  // namespace gp::coordinator
