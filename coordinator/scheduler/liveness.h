// Liveness: which nodes may still be running their assignment. Pure; thread-safe.
#pragma once

#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// True when the node was silent for longer than the lease. Silence counts from Cluster::leases_from
// at the earliest, so after a start or a stall of the coordinator every node gets a full lease,
// also a node that never said hello.
bool IsLost(const Cluster& cluster, const NodeId& node, const Policy& policy);
// The same at `now`, for readers of a published cluster: nothing is published while nothing but the
// time changes.
bool IsLostAt(Instant now, const Cluster& cluster, const NodeId& node, const Policy& policy);

// True if the trainer of `placement` in the run's epoch certainly is not running: the agent has
// reaped it, the agent has applied the run's newest assignment and does not report this trainer, or
// the node is lost.
bool IsGone(const Cluster& cluster, const Run& run, const Placement& placement,
            const Policy& policy);

}  // namespace gp::coordinator
