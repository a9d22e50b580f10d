#include "coordinator/state/sweep_admission.h"

#include "coordinator/state/initial_model.h"
#include "coordinator/state/start_description.h"

namespace gp::coordinator {
namespace {

Status CheckRoom(const Cluster& cluster, const std::string& user, const SweepSpec& spec) {
  size_t trials = spec.trials.size();
  size_t of_user = trials;
  for (const auto& [sequence, id] : cluster.live_sweeps) {
    const auto sweep = cluster.FindSweep(id);
    trials += sweep->spec->trials.size();
    if (sweep->submitted_by == user) of_user += sweep->spec->trials.size();
  }
  if (user.starts_with("user ") && of_user > kUserTrialsMax) {
    return ResourceExhausted(
        "with sweep '{}' the sweeps of {} that have not ended would have {} trials, and one user "
        "may have {}; submit it again when another sweep has ended",
        spec.name, user, of_user, kUserTrialsMax);
  }
  if (trials <= kLiveTrialsMax) return OkStatus();
  return ResourceExhausted(
      "with sweep '{}' the sweeps that have not ended would have {} trials, and at most {} are "
      "allowed; submit it again when another sweep has ended",
      spec.name, trials, kLiveTrialsMax);
}

// A trial may vary init_from.
Status CheckInitialModels(const Cluster& cluster, const SweepSpec& spec) {
  for (const SweepTrial& trial : spec.trials) {
    const std::string refusal = InitialModelRefusal(cluster, InitialModelOf(trial.submission));
    if (!refusal.empty()) return FailedPrecondition("init_from: {}", refusal);
  }
  return OkStatus();
}

}  // namespace

StatusOr<Admission> AdmitSweep(const Cluster& cluster, const Event& event, const SweepSpec& spec) {
  if (const SweepId* answered = cluster.sweep_requests.Find(event.request_id)) {
    if (cluster.FindSweep(*answered)->spec->body_digest == spec.body_digest) {
      return Admission{.replayed = true};
    }
    return AlreadyExists(
        "request id '{}' was used before with another sweep (it made '{}'); use a new one",
        event.request_id, *answered);
  }
  const auto other = cluster.FindSweep(spec.id());
  if (other != nullptr && !HasEnded(other->state)) {
    return AlreadyExists(
        "there is a sweep '{}' already, submitted by {}, which has not ended; choose another name "
        "(--name), or cancel that sweep first",
        spec.name, other->submitted_by);
  }
  RETURN_IF_ERROR(CheckRoom(cluster, event.actor, spec));
  RETURN_IF_ERROR(CheckInitialModels(cluster, spec));
  return Admission{.append = true};
}

StatusOr<Admission> AdmitSweepCancel(const Cluster& cluster, const SweepCancelled& cancelled) {
  const auto sweep = cluster.FindSweep(cancelled.sweep);
  if (sweep == nullptr) return NotFound("there is no sweep '{}'", cancelled.sweep);
  const bool done =
      sweep->state == SweepState::kCancelling || sweep->state == SweepState::kCancelled;
  if (!done && HasEnded(sweep->state)) {
    return FailedPrecondition("sweep '{}' has ended: {}; nothing is left to cancel",
                              cancelled.sweep, sweep->reason);
  }
  return Admission{.append = !done, .replayed = done};
}

}  // namespace gp::coordinator
