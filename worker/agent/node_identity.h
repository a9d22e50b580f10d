// The durable name of this node: made at the agent's first start and kept in its state directory,
// so that a restarted agent is the same node. Called once at start.
#pragma once

#include <string>

#include "base/status.h"

namespace gp::agent {

// The content of <state_dir>/node_id; written first when it is missing. DataLoss when the file
// holds something else.
StatusOr<std::string> LoadNodeId(const std::string& state_dir);

}  // namespace gp::agent
