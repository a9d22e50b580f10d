// RunState: the states of a run, and which transitions are allowed. Pure; thread-safe.
#pragma once

#include <string_view>

namespace gp::coordinator {

// Numbers are those of gp.v1.RunState.
//
//   SUBMITTED ─▶ QUEUED ─▶ STARTING ─▶ RUNNING ─▶ FINISHING ─▶ SUCCEEDED
//                  │  ▲       │           │           │
//                  │  └ requeued: a rank was stopped  │
//                  │          │           └──────┬────┘
//                  │          │                  ▼
//                  │          └───────────▶   BACKOFF ─▶ STARTING (next epoch)
//                  ▼                             │
//     any but terminal ─▶ CANCELLING ─▶ CANCELLED└─▶ FAILED (no retry left, or none would help)
//
//     SUBMITTED, QUEUED, STARTING, RUNNING, BACKOFF ─▶ PAUSED ─▶ QUEUED (on request)
//
// A terminal state is final for the newest leg of the run. The next leg (LegRequested) begins in
// QUEUED.
//
// A run that cannot continue because of a bug in the coordinator is set aside: it becomes FAILED
// from any state that is not terminal (RunEnded::set_aside), outside these rules.
//
// FINISHING: the final checkpoint is sealed, and the ranks exit. A rank that fails then does no
// harm, so FINISHING leads to SUCCEEDED or, on request, CANCELLING. STARTING also leads to
// FINISHING, and STARTING and RUNNING to SUCCEEDED when every rank completed without a final
// checkpoint. 3, 6, 7 and 9 are reserved.
enum class RunState {
  kUnspecified = 0,
  kSubmitted = 1,
  kQueued = 2,
  kStarting = 4,
  kRunning = 5,
  kPaused = 8,
  kBackoff = 10,
  kFinishing = 11,
  kSucceeded = 12,
  kFailed = 13,
  kCancelling = 14,
  kCancelled = 15,
};

bool IsTerminal(RunState state);
// SUBMITTED or QUEUED.
bool IsInQueue(RunState state);
// Waiting for slots: SUBMITTED, QUEUED or BACKOFF.
bool IsWaiting(RunState state);
bool IsAllowed(RunState from, RunState to);
// "running": the name in texts and metrics.
std::string_view Name(RunState state);

}  // namespace gp::coordinator
