// The effect of a cordon on a node and on its runs. Pure functions; thread-safe. struct Cordon is
// in state/node.h.
#pragma once

#include <string>

#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// How many of the node's slots a run holds or a trainer may still be in. For a disconnected node
// only those that a run holds: its trainers are unknown.
int BusySlots(const Cluster& cluster, const Node& node);

// "node a is drained (new kernel)". REQUIRES: the node has a cordon.
std::string CordonText(const Node& node);

// Why the ranks on this node must leave it: it is drained, or its agent is being stopped. Empty:
// they may stay.
std::string LeaveText(const Node& node);

// The drained node with the run's lowest rank; null if none of the run's nodes is drained.
std::shared_ptr<const Node> DrainedNodeOf(const Cluster& cluster, const Run& run);

}  // namespace gp::coordinator
