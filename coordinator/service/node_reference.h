// References to nodes: by id or by name. Pure; thread-safe.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// The node with this id or this name. NotFound names the nearest one; FailedPrecondition when
// several nodes have the name.
StatusOr<std::shared_ptr<const Node>> ResolveNode(const Cluster& cluster,
                                                  const std::string& reference);

}  // namespace gp::coordinator
