// Admission: what becomes of a user's request in the present state, before it is made durable.
// Pure; thread-safe.
#pragma once

#include "base/status.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

struct Admission {
  bool append = false;    // the event is to be appended and applied
  bool replayed = false;  // answered before; the answer is `run`
  RunId run;
};

// For RunSubmitted, CancelRequested and CheckpointRestored; every other event is admitted as it is.
//   AlreadyExists: the request id was used with another body.
//   FailedPrecondition: a run that has succeeded or failed cannot be cancelled; a checkpoint cannot
//   come back from quarantine now.
StatusOr<Admission> Admit(const Cluster& cluster, const Event& event);

}  // namespace gp::coordinator
