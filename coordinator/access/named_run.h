// The run that a caller of a method means, among those that it may see. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "coordinator/access/access_gate.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// As ResolveRun, and the caller has the method's role in the run's namespace. NotFound says when a
// run with this name or id was deleted, and by whom. PermissionDenied if the caller may see the run
// but lacks the role.
StatusOr<std::shared_ptr<const Run>> FindNamedRun(AdmittedCall& access, const Cluster& cluster,
                                                  const std::string& reference);

// The deleted run that `reference` names, if the caller may see its namespace; null if there is
// none.
std::shared_ptr<const DeletedRun> FindNamedDeletedRun(const AdmittedCall& access,
                                                      const Cluster& cluster,
                                                      const std::string& reference);

// "run 'tiny' (7f3k2q9a0c) was deleted by user alice at 2026-11-21T09:14:07Z".
std::string DeletionText(const DeletedRun& run);

}  // namespace gp::coordinator
