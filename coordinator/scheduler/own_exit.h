// The end of a trainer by itself: when it counts as one, and when it ends the run. Other failures
// say nothing about the run: a node was lost, storage or data were away, a peer failed, somebody
// killed the process. Pure; thread-safe.
#pragma once

#include <string>

#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// REQUIRES: `report` is of a rank that has exited.
bool IsOwnExit(const RankReport& report);

// The last step that the newest epoch of the run has committed; -1 if it has not been RUNNING.
int64_t LastStepOf(const Cluster& cluster, const Run& run);

// Why the run ends with an own exit of `rank` after `step`, in words that follow the failure's
// message; empty if it goes on. It ends when this is the third one in a row without a new step, or
// when the same step has failed on another node before.
std::string EndOfRetries(const Cluster& cluster, const Run& run, int rank, int64_t step);

}  // namespace gp::coordinator
