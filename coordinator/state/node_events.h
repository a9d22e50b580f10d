// The effect of node events: hellos, reports, broken connections, cordons. Called by Apply. Pure;
// thread-safe for clusters that no other thread changes.
#pragma once

#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// The node of this id, or a new one.
Node NodeOrNew(const Cluster& cluster, const NodeId& id);
void SaveNode(Node node, Cluster& cluster);
// Remembers that a trainer ended by itself on the node.
void NoteOwnExitOn(const NodeId& id, const OwnExit& exit, Cluster& cluster);

// The first argument is the body of `event`. A hello, report or end of an older stream that arrives
// after a newer stream's hello changes nothing.
void ApplyToNode(const NodeConnected& connected, const Event& event, Cluster& cluster);
void ApplyToNode(const NodeDisconnected& disconnected, const Event& event, Cluster& cluster);
void ApplyToNode(const NodeReported& reported, const Event& event, Cluster& cluster);
void ApplyToNode(const NodeCordoned& cordoned, const Event& event, Cluster& cluster);
void ApplyToNode(const NodeUncordoned& uncordoned, const Event& event, Cluster& cluster);

}  // namespace gp::coordinator
