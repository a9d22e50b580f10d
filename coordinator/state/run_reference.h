// References to runs, tried in this order: an id; "@last", the newest run; a name (the unfinished
// run of that name, otherwise the newest one); a unique prefix of an id, of at least four
// characters. Each may be prefixed with the run's namespace: "research/run-7". Pure; thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// The namespace of a run; "default" for runs of an older version, which had none.
const std::string& NamespaceOf(const Run& run);

using RunFilter = std::function<bool(const Run&)>;

// The run, among those that `sees` admits; the others do not exist for the caller. NotFound when
// none fits. FailedPrecondition, with a list, when a prefix fits several runs, several runs of the
// name have not ended, or several namespaces have the name.
StatusOr<std::shared_ptr<const Run>> ResolveRun(const Cluster& cluster,
                                                const std::string& reference,
                                                const RunFilter& sees);

// Among the deleted runs of namespaces that `sees` admits: the one with this id, or the last
// deleted one with this name, or the one whose id begins with it. Null if none fits, or several ids
// do.
std::shared_ptr<const DeletedRun> FindDeletedRun(
    const Cluster& cluster, const std::string& reference,
    const std::function<bool(const std::string& run_namespace)>& sees);

}  // namespace gp::coordinator
