#include "coordinator/state/run_state.h"

#include <array>

namespace gp::coordinator {
namespace {

// Indexed by the enum's number; empty for reserved numbers.
constexpr std::array<std::string_view, 16> kNames = {
    "unspecified", "submitted", "queued",     "",
    "starting",    "running",   "",           "",
    "paused",      "",          "backoff",    "finishing",
    "succeeded",   "failed",    "cancelling", "cancelled"};

}  // namespace

bool IsTerminal(RunState state) {
  return state == RunState::kSucceeded || state == RunState::kFailed ||
         state == RunState::kCancelled;
}

bool IsInQueue(RunState state) {
  return state == RunState::kSubmitted || state == RunState::kQueued;
}

bool IsWaiting(RunState state) {
  return state == RunState::kSubmitted || state == RunState::kQueued || state == RunState::kBackoff;
}

bool IsAllowed(RunState from, RunState to) {
  if (IsTerminal(from)) return false;
  switch (to) {
    case RunState::kQueued:
      return from == RunState::kSubmitted || from == RunState::kStarting ||
             from == RunState::kRunning || from == RunState::kPaused;
    case RunState::kStarting:
      return from == RunState::kQueued || from == RunState::kBackoff;
    case RunState::kRunning:
      return from == RunState::kStarting;
    case RunState::kBackoff:
      return from == RunState::kStarting || from == RunState::kRunning;
    case RunState::kPaused:
      return IsWaiting(from) || from == RunState::kStarting || from == RunState::kRunning;
    case RunState::kFinishing:
      return from == RunState::kStarting || from == RunState::kRunning;
    case RunState::kSucceeded:
      return from == RunState::kStarting || from == RunState::kRunning ||
             from == RunState::kFinishing;
    case RunState::kFailed:
      return from == RunState::kBackoff || from == RunState::kQueued;
    case RunState::kCancelling:
      return from != RunState::kCancelling;
    case RunState::kCancelled:
      return from == RunState::kCancelling;
    default:
      return false;
  }
}

std::string_view Name(RunState state) { return kNames[static_cast<size_t>(state)]; }

}  // namespace gp::coordinator
