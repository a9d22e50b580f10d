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

// `touched` are the runs that events named between `before` and `after`; the slots of all runs are
// checked. For a run that was set aside, checks only the first two rules and that it has ended.
//
//   - a run never disappears, and has a reason
//   - a run that has ended holds no slots
//   - its submission never changes
//   - terminal is final
//   - epochs only grow
//   - a gang is complete: a run that holds slots has exactly the ranks 0..workers-1, or, after it
//     went on without ranks that died, 0..n-1 with n >= survivors_min; and its group one address
//     for each
//   - no slot is held by two ranks
//   - sealed steps grow, and their epochs are not newer than the run's
//   - a sealed checkpoint is never changed, only retired, or put into quarantine and brought back;
//     the newest one is retired only if a newer one is in quarantine
//   - the run's request is recorded with this run as its answer
std::vector<Violation> FindViolations(const Cluster& before, const Cluster& after,
                                      const std::set<RunId>& touched);

}  // namespace gp::coordinator
