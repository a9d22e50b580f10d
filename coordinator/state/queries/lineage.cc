#include "coordinator/state/queries/lineage.h"

#include <utility>
#include <vector>

namespace gp::coordinator {

std::set<RunId> RelativesOf(const Cluster& cluster, const RunId& run) {
  std::set<RunId> found = {run};
  std::vector<RunId> open = {run};
  while (!open.empty()) {
    const RunId id = std::move(open.back());
    open.pop_back();
    std::set<RunId> next = cluster.ChildrenOf(id);
    const auto known = cluster.FindRunOrKept(id);
    if (known != nullptr && !known->submission->parent_run.empty()) {
      next.emplace(known->submission->parent_run);
    }
    for (const RunId& one : next) {
      if (found.insert(one).second) open.push_back(one);
    }
  }
  std::erase_if(found, [&](const RunId& id) { return cluster.FindRun(id) == nullptr; });
  return found;
}

}  // namespace gp::coordinator
