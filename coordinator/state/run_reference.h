// How people name runs: an id, a name (the newest run of that name), a unique prefix of an id, or
// "@last". Pure; thread-safe.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// NotFound, or FailedPrecondition when a prefix fits several runs (they are listed).
StatusOr<std::shared_ptr<const Run>> ResolveRun(const Cluster& cluster,
                                                const std::string& reference);

}  // namespace gp::coordinator
