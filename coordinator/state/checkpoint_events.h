// The effect of events about a run's checkpoints. Called by Apply. Pure; thread-safe for clusters
// that no other thread changes.
#pragma once

#include "coordinator/state/run_change.h"

namespace gp::coordinator {

Status ApplyBody(const CheckpointSealed&, RunChange& change);
Status ApplyBody(const CheckpointRetired&, RunChange& change);
Status ApplyBody(const CheckpointVerified&, RunChange& change);
Status ApplyBody(const CheckpointDamaged&, RunChange& change);
Status ApplyBody(const CheckpointRestored&, RunChange& change);
Status ApplyBody(const CheckpointPinned&, RunChange& change);
Status ApplyBody(const CheckpointsPruned&, RunChange& change);
Status ApplyBody(const CheckpointRead&, RunChange& change);

// Notes that a rank reported the checkpoint that it resumed from as damaged.
void ApplyDamageReport(const RankFailed& failed, Run& run);

}  // namespace gp::coordinator
