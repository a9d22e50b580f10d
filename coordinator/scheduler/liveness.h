// Liveness: which nodes are lost, and which ranks are gone. Pure; thread-safe.
#pragma once

#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// True when the node was silent for longer than the lease, also while its stream is still open.
// Silence counts from Cluster::leases_from at the earliest, so after a start or a stall of the
// coordinator every node gets a full lease, also a node that has not connected yet.
bool IsLost(const Cluster& cluster, const NodeId& node, const Policy& policy);
// The same at `now`. For readers of a published cluster, whose own time may be old: no new one is
// published while nothing but the time changes.
bool IsLostAt(Instant now, const Cluster& cluster, const NodeId& node, const Policy& policy);

// True if the scheduler need not wait for the trainer of `placement` in the run's epoch: the agent
// has reaped it; or the connected agent has applied the run's newest assignment and does not report
// this trainer; or the node is lost. A trainer on a lost node may still run, because agents keep
// their trainers while they are disconnected. Its epoch ends, so no more of its checkpoints are
// sealed, and the agent kills it when it reconnects.
bool IsGone(const Cluster& cluster, const Run& run, const Placement& placement,
            const Policy& policy);

}  // namespace gp::coordinator
