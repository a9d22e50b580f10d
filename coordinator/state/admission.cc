#include "coordinator/state/admission.h"

#include "coordinator/state/annotation.h"

namespace gp::coordinator {
namespace {

StatusOr<Admission> AdmitSubmit(const Cluster& cluster, const Event& event,
                                const RunSubmitted& submitted) {
  const AnsweredRequest* answered = cluster.requests.Find(event.request_id);
  if (answered == nullptr) return Admission{.append = true, .run = event.run};
  if (answered->body_digest != submitted.submission.body_digest) {
    return AlreadyExists(
        "request id '{}' was used before with another run file (it made run '{}'); use a new one",
        event.request_id, answered->run);
  }
  return Admission{.replayed = true, .run = answered->run};
}

StatusOr<Admission> AdmitCancel(const Cluster& cluster, const Event& event,
                                const CancelRequested& cancel) {
  const auto run = cluster.FindRun(event.run);
  if (run == nullptr) return NotFound("run '{}' does not exist", event.run);
  if (run->state == RunState::kSucceeded || run->state == RunState::kFailed) {
    return FailedPrecondition("run '{}' has already {}; nothing is left to cancel", event.run,
                              Name(run->state));
  }
  const bool hurried = cancel.now && !run->cancel_now;
  const bool done =
      run->state == RunState::kCancelled || (run->state == RunState::kCancelling && !hurried);
  return Admission{.append = !done, .replayed = done, .run = event.run};
}

StatusOr<Admission> AdmitPause(const Cluster& cluster, const Event& event) {
  const auto run = cluster.FindRun(event.run);
  if (run == nullptr) return NotFound("run '{}' does not exist", event.run);
  const bool done = run->state == RunState::kPaused || run->pausing;
  if (!done && !IsAllowed(run->state, RunState::kPaused)) {
    return FailedPrecondition("run '{}' is {}; only a run that waits or trains can be paused",
                              event.run, Name(run->state));
  }
  return Admission{.append = !done, .replayed = done, .run = event.run};
}

// Resuming a run that goes on already changes nothing.
StatusOr<Admission> AdmitResume(const Cluster& cluster, const Event& event) {
  const auto run = cluster.FindRun(event.run);
  if (run == nullptr) return NotFound("run '{}' does not exist", event.run);
  if (run->state == RunState::kPaused) return Admission{.append = true, .run = event.run};
  if (run->pausing) {
    return FailedPrecondition("run '{}' is being paused; resume it when its ranks have saved",
                              event.run);
  }
  if (IsTerminal(run->state) || run->state == RunState::kCancelling) {
    return FailedPrecondition("run '{}' is {}, not paused", event.run, Name(run->state));
  }
  return Admission{.replayed = true, .run = event.run};
}

StatusOr<Admission> AdmitLeg(const Cluster& cluster, const Event& event,
                             const LegRequested& requested) {
  const auto run = cluster.FindRun(event.run);
  if (run == nullptr) return NotFound("run '{}' does not exist", event.run);
  if (HasLegOf(*run, event.request_id)) return Admission{.replayed = true, .run = event.run};
  if (run->state == RunState::kCancelling) {
    return FailedPrecondition("run '{}' is being cancelled; wait until it has ended", event.run);
  }
  if (run->set_aside) {
    return FailedPrecondition(
        "run '{}' was set aside because of a bug; fork from one of its checkpoints", event.run);
  }
  if (run->next_leg) {
    return FailedPrecondition("run '{}' is about to go on with another leg: {}", event.run,
                              run->next_leg->why);
  }
  const std::string refusal = LegRefusal(*run, requested.first_step);
  if (!refusal.empty()) return FailedPrecondition("run '{}': {}", event.run, refusal);
  const auto* live = cluster.LiveRunsNamed(run->submission->run_namespace, run->submission->name);
  if (live != nullptr && !live->contains(event.run)) {
    return AlreadyExists(
        "run '{}' can go on when run '{}' has ended, which has its name '{}'; or fork from its "
        "checkpoint under another name",
        event.run, *live->begin(), run->submission->name);
  }
  return Admission{.append = true, .run = event.run};
}

// Ended runs are annotated too.
StatusOr<Admission> AdmitAnnotation(const Cluster& cluster, const Event& event,
                                    const RunAnnotated& change) {
  const auto run = cluster.FindRun(event.run);
  if (run == nullptr) return NotFound("run '{}' does not exist", event.run);
  if (IsAnnotated(change, *run)) return Admission{.replayed = true, .run = event.run};
  Run after = *run;
  Annotate(change, after);
  if (after.labels.size() > std::max(kRunLabelsMax, run->labels.size())) {
    return FailedPrecondition("run '{}' would have {} labels; at most {} are kept: remove some",
                              event.run, after.labels.size(), kRunLabelsMax);
  }
  return Admission{.append = true, .run = event.run};
}

StatusOr<Admission> AdmitRestore(const Cluster& cluster, const Event& event,
                                 const CheckpointRestored& restored) {
  const auto run = cluster.FindRun(event.run);
  if (run == nullptr) return NotFound("run '{}' does not exist", event.run);
  const std::string refusal = RestoreRefusal(*run, restored.step);
  if (refusal.empty()) return Admission{.append = true, .run = event.run};
  return FailedPrecondition("the checkpoint of step {} of run '{}' stays where it is: {}",
                            restored.step, event.run, refusal);
}

// Cordoning a drained node changes nothing: only NodeUncordoned ends a drain.
StatusOr<Admission> AdmitCordon(const Cluster& cluster, const NodeCordoned& cordoned) {
  const auto node = cluster.FindNode(cordoned.node);
  if (node == nullptr) return NotFound("node '{}' does not exist", cordoned.node);
  if (!node->cordon) return Admission{.append = true};
  const bool weaker = node->cordon->drain && !cordoned.drain;
  const bool same =
      node->cordon->drain == cordoned.drain && node->cordon->reason == cordoned.reason;
  return Admission{.append = !weaker && !same, .replayed = weaker || same};
}

StatusOr<Admission> AdmitUncordon(const Cluster& cluster, const NodeUncordoned& uncordoned) {
  const auto node = cluster.FindNode(uncordoned.node);
  if (node == nullptr) return NotFound("node '{}' does not exist", uncordoned.node);
  return Admission{.append = node->cordon.has_value(), .replayed = !node->cordon};
}

// Limits the number of warnings. Apply checks the rest, for example that the run exists.
StatusOr<Admission> AdmitWarning(const Cluster& cluster, const Event& event) {
  const auto run = cluster.FindRun(event.run);
  if (run == nullptr || run->warnings < kWarningsMax) {
    return Admission{.append = true, .run = event.run};
  }
  return FailedPrecondition("run '{}' has {} warnings already; no more are kept", event.run,
                            run->warnings);
}

}  // namespace

StatusOr<Admission> Admit(const Cluster& cluster, const Event& event) {
  if (const auto* submitted = std::get_if<RunSubmitted>(&event.body)) {
    return AdmitSubmit(cluster, event, *submitted);
  }
  if (const auto* cancel = std::get_if<CancelRequested>(&event.body)) {
    return AdmitCancel(cluster, event, *cancel);
  }
  if (const auto* restored = std::get_if<CheckpointRestored>(&event.body)) {
    return AdmitRestore(cluster, event, *restored);
  }
  if (std::holds_alternative<PauseRequested>(event.body)) return AdmitPause(cluster, event);
  if (std::holds_alternative<RunResumed>(event.body)) return AdmitResume(cluster, event);
  if (const auto* requested = std::get_if<LegRequested>(&event.body)) {
    return AdmitLeg(cluster, event, *requested);
  }
  if (const auto* change = std::get_if<RunAnnotated>(&event.body)) {
    return AdmitAnnotation(cluster, event, *change);
  }
  if (std::holds_alternative<RunWarned>(event.body)) return AdmitWarning(cluster, event);
  if (const auto* cordoned = std::get_if<NodeCordoned>(&event.body)) {
    return AdmitCordon(cluster, *cordoned);
  }
  if (const auto* uncordoned = std::get_if<NodeUncordoned>(&event.body)) {
    return AdmitUncordon(cluster, *uncordoned);
  }
  return Admission{.append = true, .run = event.run};
}

}  // namespace gp::coordinator
