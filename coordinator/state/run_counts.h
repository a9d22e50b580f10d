// RunCounts: how many runs are in each state, by namespace, including ended ones. Kept up to date
// by Cluster::Set, so that a list can show the numbers without visiting all runs. A value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "coordinator/state/run.h"

namespace gp::coordinator {

class RunCounts {
 public:
  using ByState = std::map<RunState, int64_t>;  // only states that a run is in

  // Counts `after` instead of `before`, the run's earlier value (null if the run is new).
  void Replace(const Run* before, const Run& after);

  // Stops counting a run.
  void Remove(const Run& run) { Add(run, -1); }

  // The sum over these namespaces; over all of them if null.
  ByState In(const std::optional<std::set<std::string>>& namespaces) const;

 private:
  void Add(const Run& run, int64_t difference);

  std::map<std::string, ByState> by_namespace_;
};

}  // namespace gp::coordinator
