// The effect of events that pause a run or begin another leg of it. Called by Apply. Pure;
// thread-safe for clusters that no other thread changes.
#pragma once

#include <string>

#include "coordinator/state/run_change.h"

namespace gp::coordinator {

Status ApplyBody(const PauseRequested&, RunChange& change);
Status ApplyBody(const RunPaused&, RunChange& change);
Status ApplyBody(const RunResumed&, RunChange& change);
Status ApplyBody(const LegRequested&, RunChange& change);
Status ApplyBody(const LegBegun&, RunChange& change);

// Notes that the newest leg begins from an older checkpoint than the one that it was to begin from,
// because that one was lost before the leg sealed one of its own.
void NoteLostStart(int64_t resume_step, Run& run);

void EndLeg(const std::string& why, Timestamp at, Run& run);

}  // namespace gp::coordinator
