// The runs that are connected by forks. Pure; thread-safe.
#pragma once

#include <set>

#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// The run, its ancestors, and everything that began from one of them, also through runs that were
// deleted. Without those that were deleted themselves.
std::set<RunId> RelativesOf(const Cluster& cluster, const RunId& run);

}  // namespace gp::coordinator
