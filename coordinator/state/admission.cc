#include "coordinator/state/admission.h"

#include <algorithm>

#include "coordinator/state/annotation.h"
#include "coordinator/state/initial_model.h"
#include "coordinator/state/start_description.h"
#include "coordinator/state/sweep_admission.h"

namespace gp::coordinator {
namespace {

// The checkpoint that init_from names may have been retired since the request was made.
Status CheckInitialModel(const Cluster& cluster, const Submission& submission) {
  const std::string refusal = InitialModelRefusal(cluster, InitialModelOf(submission));
  if (refusal.empty()) return OkStatus();
  return FailedPrecondition("init_from: {}", refusal);
}

// The run may have been deleted since the request was checked.
Status CheckParent(const Cluster& cluster, const Submission& submission) {
  const auto parent = cluster.FindDeleted(RunId(submission.parent_run));
  if (parent == nullptr || !parent->kept_checkpoints.empty()) return OkStatus();
  return FailedPrecondition("run '{}' ({}), from which the new one would begin, was deleted by {}",
                            parent->name, parent->id, parent->deleted_by);
}

StatusOr<Admission> AdmitPin(const Cluster& cluster, const Event& event,
                             const CheckpointPinned& pinned) {
  const auto run = cluster.FindRun(event.run);
  if (run == nullptr) return NotFound("run '{}' does not exist", event.run);
  const SealedCheckpoint* sealed = FindSealed(*run, {pinned.step, pinned.epoch});
  if (sealed != nullptr && !sealed->retired) {
    const bool done = sealed->pinned == pinned.pinned;
    return Admission{.append = !done, .replayed = done, .run = event.run};
  }
  return NotFound("run '{}' has no sealed checkpoint of step {}", event.run, pinned.step);
}

StatusOr<Admission> AdmitSubmit(const Cluster& cluster, const Event& event,
                                const RunSubmitted& submitted) {
  const AnsweredRequest* answered = cluster.requests.Find(event.request_id);
  if (answered == nullptr) {
    RETURN_IF_ERROR(CheckInitialModel(cluster, submitted.submission));
    RETURN_IF_ERROR(CheckParent(cluster, submitted.submission));
    return Admission{.append = true, .run = event.run};
  }
  if (answered->body_digest != submitted.submission.body_digest) {
    return AlreadyExists(
        "request id '{}' was used before with another run file (it made run '{}'); use a new one",
        event.request_id, answered->run);
  }
  if (cluster.FindDeleted(answered->run) != nullptr) {
    return AlreadyExists("request id '{}' was used before: it made run '{}', which was deleted",
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

StatusOr<Admission> AdmitResize(const Cluster& cluster, const Event& event,
                                const RunResized& resized) {
  const auto run = cluster.FindRun(event.run);
  if (run == nullptr) return NotFound("run '{}' does not exist", event.run);
  if (IsTerminal(run->state) || run->state == RunState::kCancelling) {
    return FailedPrecondition("run '{}' is {}; its number of ranks does not matter any more",
                              event.run, Name(run->state));
  }
  if (run->resized_to == resized.workers) return Admission{.replayed = true, .run = event.run};
  const std::string refusal = ResizeRefusal(*run, resized.workers);
  if (refusal.empty()) return Admission{.append = true, .run = event.run};
  return FailedPrecondition("run '{}' cannot have {} rank{}: {}", event.run, resized.workers,
                            resized.workers == 1 ? "" : "s", refusal);
}

// Resuming a run that already continues changes nothing.
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
    return FailedPrecondition("run '{}' is about to start another leg: {}", event.run,
                              run->next_leg->why);
  }
  const std::string refusal = LegRefusal(*run, requested.first_step);
  if (!refusal.empty()) return FailedPrecondition("run '{}': {}", event.run, refusal);
  const bool from_start = requested.first_step.value_or(0) < 0;
  if (from_start || run->LatestCheckpoint() == nullptr) {
    RETURN_IF_ERROR(CheckInitialModel(cluster, requested.submission));
  }
  const auto* live = cluster.LiveRunsNamed(run->submission->run_namespace, run->submission->name);
  if (live != nullptr && !live->contains(event.run)) {
    return AlreadyExists(
        "run '{}' cannot continue while run '{}' uses its name '{}'; wait until that run ends, or "
        "fork from a checkpoint under another name",
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
  for (const SealedCheckpoint* sealed :
       {run->FindCheckpoint(restored.step), run->FindSuperseded(restored.step)}) {
    if (sealed != nullptr && !event.request_id.empty() &&
        sealed->restored_by_request == event.request_id) {
      return Admission{.replayed = true, .run = event.run};
    }
  }
  const std::string refusal = RestoreRefusal(*run, restored.step);
  if (refusal.empty()) return Admission{.append = true, .run = event.run};
  return FailedPrecondition("the checkpoint of step {} of run '{}' stays where it is: {}",
                            restored.step, event.run, refusal);
}

// "run 'a'", "runs 'a', 'b' and 3 others".
std::string NamesOf(const Cluster& cluster, const std::set<RunId>& ids) {
  constexpr size_t kNamesMax = 5;
  std::string names;
  size_t count = 0;
  for (const RunId& id : ids) {
    if (++count > kNamesMax) break;
    const auto run = cluster.FindRun(id);
    names += fmt::format("{}'{}'", count == 1 ? "" : ", ", run->submission->name);
  }
  if (ids.size() > kNamesMax) names += fmt::format(" and {} others", ids.size() - kNamesMax);
  return (ids.size() == 1 ? "run " : "runs ") + names;
}

using Awaited = std::map<std::string, int>;

// The first model below `directory` that a run may still begin from; `end` if there is none.
Awaited::const_iterator FirstAwaited(const Cluster& cluster, const std::string& directory) {
  const auto found = cluster.awaited_models.lower_bound(directory + "/");
  const auto end = cluster.awaited_models.end();
  return found != end && found->first.starts_with(directory + "/") ? found : end;
}

// Which runs may still begin from the model.
std::set<RunId> Awaiting(const Cluster& cluster, const std::string& model) {
  std::set<RunId> ids;
  cluster.runs.ForEach([&](const RunId& id, const std::shared_ptr<const Run>& run) {
    if (AwaitedModel(*run) == model) ids.insert(id);
  });
  return ids;
}

// `kept`: directories of checkpoints that stay.
Status CheckNotAwaited(const Cluster& cluster, const std::string& directory,
                       const std::vector<std::string>& kept) {
  const auto end = cluster.awaited_models.end();
  for (auto it = FirstAwaited(cluster, directory); it != end; ++it) {
    const std::string& model = it->first;
    if (!model.starts_with(directory + "/")) break;
    if (std::ranges::find(kept, model) != kept.end()) continue;
    const std::set<RunId> ids = Awaiting(cluster, model);
    if (ids.empty()) {
      return FailedPrecondition(
          "trials of a sweep may still begin from the model {}; cancel it first", model);
    }
    const bool live = std::ranges::any_of(
        ids, [&](const RunId& id) { return !IsTerminal(cluster.FindRun(id)->state); });
    return FailedPrecondition("{} may still begin from the model {}; {} {} first",
                              NamesOf(cluster, ids), model, live ? "cancel" : "delete",
                              ids.size() == 1 ? "it" : "them");
  }
  return OkStatus();
}

Status CheckNoChildren(const Cluster& cluster, const RunId& id, const std::string& name) {
  const std::set<RunId> children = cluster.ChildrenOf(id);
  if (children.empty()) return OkStatus();
  return FailedPrecondition(
      "{} began from checkpoints of run '{}'; keep them with --keep-checkpoints, or delete {} "
      "first",
      NamesOf(cluster, children), name, children.size() == 1 ? "that run" : "those runs");
}

StatusOr<Admission> AdmitSecondDeletion(const Cluster& cluster, const Event& event,
                                        const RunDeleted& deletion, const DeletedRun& deleted) {
  const bool same = !event.request_id.empty() && deleted.request_id == event.request_id;
  if (same) return Admission{.replayed = true, .run = event.run};
  if (deleted.kept_checkpoints.empty() || deletion.keep_checkpoints) {
    return NotFound("run '{}' ({}) was deleted already, by {}", deleted.name, deleted.id,
                    deleted.deleted_by);
  }
  if (!deletion.is_trial) RETURN_IF_ERROR(CheckNoChildren(cluster, deleted.id, deleted.name));
  RETURN_IF_ERROR(CheckNotAwaited(cluster, deleted.run_directory, {}));
  return Admission{.append = true, .run = event.run};
}

StatusOr<Admission> AdmitDeletion(const Cluster& cluster, const Event& event,
                                  const RunDeleted& deletion) {
  const AnsweredRequest* answered = cluster.requests.Find(event.request_id);
  if (answered != nullptr &&
      (answered->run != event.run || answered->body_digest != kDeletionDigest)) {
    return AlreadyExists("request id '{}' was used before, for run '{}'; use a new one",
                         event.request_id, answered->run);
  }
  if (const auto deleted = cluster.FindDeleted(event.run)) {
    return AdmitSecondDeletion(cluster, event, deletion, *deleted);
  }
  const auto run = cluster.FindRun(event.run);
  if (run == nullptr) return NotFound("run '{}' does not exist", event.run);
  const std::string& name = run->submission->name;
  if (!IsTerminal(run->state)) {
    const char* const next = run->state == RunState::kCancelling ? "wait" : "cancel";
    return FailedPrecondition("run '{}' is {}; only an ended run is deleted: gpctl {} {}", name,
                              Name(run->state), next, name);
  }
  const bool keep = deletion.keep_checkpoints;
  if (!keep && !deletion.is_trial) RETURN_IF_ERROR(CheckNoChildren(cluster, run->id, name));
  RETURN_IF_ERROR(CheckNotAwaited(cluster, run->submission->run_directory,
                                  keep ? SealedDirectories(*run) : std::vector<std::string>()));
  return Admission{.append = true, .run = event.run};
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

bool IsNeeded(const Cluster& cluster, const Run& run) {
  return !cluster.ChildrenOf(run.id).empty() ||
         FirstAwaited(cluster, run.submission->run_directory) != cluster.awaited_models.end();
}

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
  if (const auto* resized = std::get_if<RunResized>(&event.body)) {
    return AdmitResize(cluster, event, *resized);
  }
  if (const auto* requested = std::get_if<LegRequested>(&event.body)) {
    return AdmitLeg(cluster, event, *requested);
  }
  if (const auto* pinned = std::get_if<CheckpointPinned>(&event.body)) {
    return AdmitPin(cluster, event, *pinned);
  }
  if (const auto* deletion = std::get_if<RunDeleted>(&event.body)) {
    return AdmitDeletion(cluster, event, *deletion);
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
  if (const auto* submitted = std::get_if<SweepSubmitted>(&event.body)) {
    return AdmitSweep(cluster, event, *submitted->spec);
  }
  if (const auto* cancelled = std::get_if<SweepCancelled>(&event.body)) {
    return AdmitSweepCancel(cluster, *cancelled);
  }
  return Admission{.append = true, .run = event.run};
}

}  // namespace gp::coordinator
