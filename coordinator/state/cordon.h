// The effect of a cordon on a node and on its runs. Pure functions; thread-safe. struct Cordon is
// in state/node.h.
#pragma once

#include <string>

#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// The node's slots that a run holds, or in which a trainer may still be.
int BusySlots(const Cluster& cluster, const Node& node);

// "node a is drained (new kernel)". REQUIRES: the node has a cordon.
std::string CordonText(const Node& node);

// The first of the run's nodes that is drained; null if none is.
std::shared_ptr<const Node> DrainedNodeOf(const Cluster& cluster, const Run& run);

}  // namespace gp::coordinator
