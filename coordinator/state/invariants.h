// Invariants: rules that always hold. They are checked after every batch, on what the batch
// touched, in production too. Pure; thread-safe.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// A rule that a run broke.
struct Violation {
  RunId run;
  std::string rule;  // "its gang is not complete"
};

// `touched` are the runs that events named between `before` and `after`. For a run that was set
// aside, only its end is checked.
//
//   - a run never disappears, and its submission never changes
//   - terminal is final
//   - epochs only grow
//   - a gang is complete: a run that holds slots has exactly the ranks 0..workers-1
//   - no slot is held by two ranks
//   - sealed steps grow, and belong to epochs that were
//   - a sealed checkpoint is never changed, only retired (never the newest of a run that
//     lives), or put into quarantine and brought back
//   - an answered request names a run that exists
std::vector<Violation> FindViolations(const Cluster& before, const Cluster& after,
                                      const std::set<RunId>& touched);

}  // namespace gp::coordinator
