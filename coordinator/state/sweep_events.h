// What events do to sweeps; called by Apply.
#pragma once

#include "base/status.h"
#include "coordinator/state/run_change.h"

namespace gp::coordinator {

Status ApplyBody(const SweepSubmitted& submitted, RunChange& change);
Status ApplyBody(const SweepCancelled& cancelled, RunChange& change);
Status ApplyBody(const SweepEnded& ended, RunChange& change);

}  // namespace gp::coordinator
