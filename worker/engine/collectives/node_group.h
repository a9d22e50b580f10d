// How the ranks of a group find out which of them run on one machine, and how those pass each other
// their memory: over a socket of that machine, to peers that know the secret of the epoch. One
// thread calls.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "worker/engine/collectives/node_memory.h"
#include "worker/engine/collectives/wire.h"

namespace gp::engine {

// A name that processes share when they can pass each other memory: of the machine as it was booted
// and of its network. Empty when the system does not tell.
std::string MachineIdentity();

struct NodeGroup {
  std::vector<size_t> node_of;                   // by rank (node_plan.h)
  std::vector<std::optional<PeerMemory>> peers;  // by rank; those of the own node
};

// Every rank of the group calls it at once. Ranks whose options.machine are equal and not empty
// become one node, if they can; one that cannot, or has no `memory`, stays alone and says so to the
// others. Takes at most a few seconds. CollectiveError when a peer is lost.
NodeGroup FormNodes(const GroupOptions& options, Wire& wire, const NodeMemory* memory,
                    const std::stop_token& stop);

}  // namespace gp::engine
