// Liveness: which nodes may still be running what they were told to. Pure; thread-safe.
#pragma once

#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// Silent for longer than the lease, counted from the start of leases at the earliest (after a start
// or a stall of the coordinator every lease gets a full term). A node that never said hello has the
// same term.
bool IsLost(const Cluster& cluster, const NodeId& node, const Policy& policy);

// The trainer of `placement` in the run's epoch is known not to run: reaped, never started by an
// agent that has seen that it should not, or its node is lost.
bool IsGone(const Cluster& cluster, const Run& run, const Placement& placement,
            const Policy& policy);

}  // namespace gp::coordinator
