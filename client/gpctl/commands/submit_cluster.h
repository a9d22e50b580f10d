// gpctl submit --backend k8s: submits the run to the coordinator as usual, and creates a JobSet
// that starts agents for it on Kubernetes. Used by gpctl's main thread.
#pragma once

#include "client/gpctl/commands/submit.h"
#include "client/gpctl/session/exit_code.h"

namespace gp::gpctl {

// Checks the file here and prints the JobSet, without calling the coordinator.
StatusOr<ExitCode> PrintJobSet(const RunFileText& file, const SubmitOptions& options,
                               Session& session);

// Submits the run, then creates the JobSet with kubectl. When that fails the run is cancelled; not
// if --request-id named a run that had been submitted before: then it is only a warning.
StatusOr<v1::SubmitResponse> SubmitToCluster(const RunFileText& file, const SubmitOptions& options,
                                             Session& session);

}  // namespace gp::gpctl
