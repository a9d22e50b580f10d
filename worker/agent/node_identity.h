// The agent's state directory: its version, and the node's durable id, which is created at the
// first start so that a restarted agent is the same node. Called once at start.
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
