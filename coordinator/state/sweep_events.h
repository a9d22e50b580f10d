// Applies events to sweeps; called by Apply. An ended sweep is remembered until another one of its
// name is submitted, or until the sweeps that ended later have kEndedTrialsMax trials. Its trials
// are runs, and stay.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "coordinator/state/run_change.h"

namespace gp::coordinator {

// The most trials of the ended sweeps that are remembered, unless the newest has more by itself. A
// trial takes about a kilobyte of memory.
inline constexpr size_t kEndedTrialsMax = 20'000;

Status ApplyBody(const SweepSubmitted& submitted, RunChange& change);
Status ApplyBody(const SweepCancelled& cancelled, RunChange& change);
Status ApplyBody(const SweepEnded& ended, RunChange& change);

}  // namespace gp::coordinator
