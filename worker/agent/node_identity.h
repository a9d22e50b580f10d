// What an agent keeps in its state directory: the durable name of this node, made at the agent's
// first start, so that a restarted agent is the same node. Called once at start.
#pragma once

#include <string>

#include "base/status.h"

namespace gp::agent {

// Brings the state directory, which is locked, to this version (docs/formats/versions.md).
// FailedPrecondition when a newer gp wrote it.
Status MigrateAgentState(const std::string& state_dir);

// The content of <state_dir>/node_id; written first when it is missing. DataLoss when the file
// holds something else.
StatusOr<std::string> LoadNodeId(const std::string& state_dir);

}  // namespace gp::agent
