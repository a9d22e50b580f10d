// Admission: decides whether the current state allows a user's request, before it is made durable.
// Pure; thread-safe.
#pragma once

#include "base/status.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

struct Admission {
  bool append = false;    // the event is to be appended and applied
  bool replayed = false;  // nothing to append: it was answered before, or it changes nothing
  RunId run;              // the run to answer with; empty for events of nodes
};

// The most RunWarned events that a run gets; later ones are refused. A run's problem is obvious
// long before.
inline constexpr int kWarningsMax = 1000;

// Checks RunSubmitted, CancelRequested, PauseRequested, RunResumed, RunResized, LegRequested,
// CheckpointRestored, RunDeleted, CheckpointPinned, RunAnnotated, RunWarned, NodeCordoned,
// NodeUncordoned, SweepSubmitted and SweepCancelled (sweep_admission.h); every other event is
// admitted. Apply may still refuse an admitted event.
//   NotFound: there is no such run or node (not for RunWarned); the run was deleted already.
//   AlreadyExists: the request id was used with another body; an ended run cannot go on because a
//   live run has its name.
//   FailedPrecondition: the run's state does not allow it; the checkpoint that init_from names was
//   retired or is in quarantine, or its run was deleted; a checkpoint cannot come back from
//   quarantine now; other runs need a checkpoint of the run to delete, or a model in its directory;
//   a run has kWarningsMax warnings, or would have more than kRunLabelsMax labels.
StatusOr<Admission> Admit(const Cluster& cluster, const Event& event);

// Whether other runs began from a checkpoint of the run, or one may still begin from a model in its
// directory (AwaitedModel). Then the run cannot be deleted.
bool IsNeeded(const Cluster& cluster, const Run& run);

}  // namespace gp::coordinator
