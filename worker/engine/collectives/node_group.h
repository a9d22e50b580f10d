// Determines which ranks of a group run on one machine, and passes memory between those ranks: over
// a socket of that machine, to peers that have the secret of the epoch. One thread calls.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "worker/engine/collectives/node_memory.h"
#include "worker/engine/collectives/wire.h"

namespace gp::engine {

// A name that is equal for processes which can pass memory to each other; made of the machine's
// boot id and its network namespace. Empty if the system does not provide it.
std::string MachineIdentity();

struct NodeGroup {
  std::vector<size_t> node_of;                   // by rank (node_plan.h)
  std::vector<std::optional<PeerMemory>> peers;  // by rank; only ranks of this node
};

// Every rank of the group must call it at the same time. Ranks whose options.machine are equal and
// not empty become one node if they can. A rank that cannot, or has no `memory`, stays alone, and
// all ranks get the same result. Takes at most about 5 s. CollectiveError when a peer is lost.
NodeGroup FormNodes(const GroupOptions& options, Wire& wire, const NodeMemory* memory,
                    const std::stop_token& stop);

}  // namespace gp::engine
