#include "client/api/sweep_state_name.h"

namespace gp::client {

std::string StateName(v1::SweepState state) {
  switch (state) {
    case v1::SWEEP_STATE_RUNNING:
      return "running";
    case v1::SWEEP_STATE_CANCELLING:
      return "cancelling";
    case v1::SWEEP_STATE_SUCCEEDED:
      return "succeeded";
    case v1::SWEEP_STATE_FAILED:
      return "failed";
    case v1::SWEEP_STATE_CANCELLED:
      return "cancelled";
    default:
      return "unknown";
  }
}

std::string StateName(v1::TrialState state) {
  switch (state) {
    case v1::TRIAL_STATE_WAITING:
      return "waiting";
    case v1::TRIAL_STATE_LIVE:
      return "running";
    case v1::TRIAL_STATE_DONE:
      return "done";
    case v1::TRIAL_STATE_STOPPED:
      return "stopped";
    case v1::TRIAL_STATE_FAILED:
      return "failed";
    case v1::TRIAL_STATE_CANCELLED:
      return "cancelled";
    case v1::TRIAL_STATE_DELETED:
      return "deleted";
    default:
      return "unknown";
  }
}

bool HasEnded(v1::SweepState state) {
  return state == v1::SWEEP_STATE_SUCCEEDED || state == v1::SWEEP_STATE_FAILED ||
         state == v1::SWEEP_STATE_CANCELLED;
}

}  // namespace gp::client
