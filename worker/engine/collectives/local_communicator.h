// The Communicator of ranks that are threads of one process: for tests, and with one member for a
// training without peers. The members share the group; it is destroyed with the last of them.
// Destroying a member that others still need is a lost peer for them.
#pragma once

#include <memory>
#include <vector>

#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

// One communicator per rank, for one thread each.
std::vector<std::unique_ptr<Communicator>> MakeLocalGroup(
    int world_size, int logical_shards,
    std::chrono::milliseconds timeout = std::chrono::minutes(2));

}  // namespace gp::engine
