// Apply: one function per kind of event.
#include <algorithm>

#include "coordinator/state/annotation.h"
#include "coordinator/state/cluster.h"
#include "coordinator/state/node_events.h"
#include "coordinator/state/run_reference.h"

namespace gp::coordinator {
namespace {

using RunPointer = std::shared_ptr<const Run>;

Leg FirstLeg(const Submission& submission, Timestamp at) {
  return {.engine = {.device = submission.device, .logical_shards = submission.logical_shards},
          .request_id = submission.request_id,
          .why_begun = "submitted",
          .begun_at = at};
}

std::vector<std::string> SealedDirectories(const Run& run) {
  std::vector<std::string> directories;
  for (const auto* sealed : {&run.checkpoints, &run.superseded}) {
    for (const SealedCheckpoint& checkpoint : *sealed) {
      if (!checkpoint.retired) directories.push_back(checkpoint.directory);
    }
  }
  return directories;
}

// The next leg computes with the engine of the last one, so that the bits stay the same. Another
// device needs another engine.
Engine NextEngine(const Engine& last, const Submission& submission) {
  Engine next = last;
  if (submission.device != Device::kAuto && submission.device != last.device) {
    next = {.device = submission.device};
  }
  next.logical_shards = submission.logical_shards;
  return next;
}

class Applier {
 public:
  Applier(const Event& event, Cluster& cluster)
      : event_(event), cluster_(cluster), sequence_(cluster.last_sequence + 1) {}

  Status operator()(const RunSubmitted& submitted) {
    if (cluster_.FindRun(event_.run) != nullptr) return Impossible("the run exists already");
    if (cluster_.requests.Find(event_.request_id) != nullptr) {
      return Impossible("the request was answered already");
    }
    Run run;
    run.id = event_.run;
    run.submission = Recorded(submitted.submission);
    run.submitted_by = event_.actor;
    run.labels = submitted.submission.labels;
    run.leg = FirstLeg(submitted.submission, event_.at);
    run.submitted_sequence = sequence_;
    run.submitted_at = event_.at;
    run.state = RunState::kSubmitted;
    run.reason = "submitted";
    cluster_.requests.Set(event_.request_id, {event_.run, submitted.submission.body_digest});
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const RunQueued& queued) {
    ASSIGN_OR_RETURN(Run run, Moved(RunState::kQueued, queued.reason));
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const RunPlaced& placed) {
    ASSIGN_OR_RETURN(Run run, Moved(RunState::kStarting, placed.reason));
    if (placed.leg != run.leg.number) return Impossible("its leg is not the newest one");
    if (placed.epoch != run.epoch + 1) return Impossible("its epoch is not the next one");
    run.epoch = placed.epoch;
    run.placement = placed.placement;
    for (const Placement& placement : placed.placement) run.hosts.insert(placement.node);
    run.holds_slots = true;
    run.group.reset();
    run.go = false;
    run.resume_step = placed.resume_step;
    Engine& engine = run.leg.engine;
    engine.threads_per_rank = placed.threads_per_rank;
    engine.isa = placed.isa;
    if (placed.device != Device::kAuto) engine.device = placed.device;
    if (run.suspicion) run.suspicion->asks_coordinator = false;
    Touch(run);
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const RunGroupReady& ready) {
    ASSIGN_OR_RETURN(Run run, Current(ready.epoch));
    if (run.state != RunState::kStarting) return Impossible("it is not starting");
    run.group = Group{ready.addresses, ready.nonce, ready.encrypted};
    run.leg.engine.isa = ready.isa;
    run.leg.engine.kernels = ready.kernels;
    run.reason = "every rank listens; connecting";
    Touch(run);
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const RunStarted& started) {
    ASSIGN_OR_RETURN(Run run, Current(started.epoch));
    RETURN_IF_ERROR(Move(RunState::kRunning, kEveryRankReady, run));
    run.go = true;
    for (const Placement& place : run.placement) run.lacking_nodes.erase(place.node);
    if (run.suspicion && run.suspicion->whole) run.suspicion.reset();
    if (!run.started_at) run.started_at = event_.at;
    Touch(run);
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const RankFailed& failed) {
    ASSIGN_OR_RETURN(Run run, Current(failed.epoch));
    if (failed.rank < 0 || failed.rank >= static_cast<int>(run.placement.size())) {
      return Impossible(
          fmt::format("rank {} is not one of its {}", failed.rank, run.placement.size()));
    }
    RETURN_IF_ERROR(Move(RunState::kBackoff, failed.message, run));
    Withdraw(run);
    ++run.failures;
    const NodeId node = run.placement[static_cast<size_t>(failed.rank)].node;
    if (failed.cause == ExitCause::kUnfit) {
      run.unfit_nodes[node] = failed.message;
    } else if (failed.cause == ExitCause::kDamagedCheckpoint) {
      ApplyDamageReport(failed, run);
    } else if (!failed.passes_over) {
      ++run.failures_since_seal;
    }
    if (failed.cause == ExitCause::kStorage) run.doubtful_nodes.insert(node);
    if (failed.cause == ExitCause::kData) {
      run.lacking_nodes[node] = {failed.message, cluster_.now};
    }
    run.backoff_reason = run.reason;
    run.failed_at = event_.at;
    run.retry_at = failed.retry_at;
    run.gave_up = !failed.retry;
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const CancelRequested& cancel) {
    ASSIGN_OR_RETURN(Run run, Existing());
    const bool hurried = run.state == RunState::kCancelling && cancel.now && !run.cancel_now;
    if (!hurried) RETURN_IF_ERROR(Move(RunState::kCancelling, "cancel requested", run));
    run.cancel_now = cancel.now;
    if (run.holds_slots) {
      run.reason = cancel.now ? "cancel requested; the ranks leave at once"
                              : "cancel requested; the ranks save their last step and leave";
    }
    Touch(run);
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const CheckpointSealed& sealed) {
    ASSIGN_OR_RETURN(Run run, Current(sealed.epoch));
    if (sealed.leg != run.leg.number) return Impossible("its leg is not the newest one");
    const contract::WrittenCheckpoint& written = sealed.checkpoint;
    if (!run.checkpoints.empty() && run.checkpoints.back().step >= written.step) {
      return Impossible("a checkpoint of that step or a later one is sealed");
    }
    run.checkpoints.push_back({written, sealed.epoch, event_.at, sealed.leg});
    run.failures_since_seal = 0;
    run.suspicion.reset();
    Touch(run);
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const CheckpointRetired& retired) {
    ASSIGN_OR_RETURN(Run run, Existing());
    for (SealedCheckpoint& checkpoint : run.checkpoints) {
      if (checkpoint.step != retired.step) continue;
      checkpoint.retired = true;
      Save(std::move(run));
      return OkStatus();
    }
    return Impossible("no checkpoint of that step is sealed");
  }

  Status operator()(const CheckpointVerified& verified) {
    ASSIGN_OR_RETURN(Run run, Suspected(verified.step));
    if (run.state == RunState::kBackoff) {
      run.suspicion->whole = true;
      run.suspicion->asks_coordinator = false;
      run.retry_at = event_.at;
      run.reason = run.backoff_reason = verified.text;
    } else {
      run.suspicion.reset();
    }
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const CheckpointDamaged& damaged) {
    if (damaged.lost) return ApplyLoss(damaged);
    ASSIGN_OR_RETURN(Run run, Suspected(damaged.step));
    if (run.state != RunState::kBackoff) return Impossible("it does not wait");
    for (const NodeId& node : run.suspicion->told_by) run.doubtful_nodes.erase(node);
    Quarantine(damaged.step, damaged.reason, run);
    run.suspicion.reset();
    run.reason = run.backoff_reason = damaged.reason;
    run.retry_at = event_.at;
    run.gave_up = run.LatestCheckpoint() == nullptr;
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const CheckpointRestored& restored) {
    ASSIGN_OR_RETURN(Run run, Existing());
    const std::string refusal = RestoreRefusal(run, restored.step);
    if (!refusal.empty()) return Impossible(refusal);
    const QuarantinedCheckpoint* held = run.FindQuarantined(restored.step);
    SealedCheckpoint checkpoint = held->checkpoint;
    run.quarantined.erase(run.quarantined.begin() + (held - run.quarantined.data()));
    checkpoint.restored = true;
    checkpoint.restored_by_request = event_.request_id;
    // The run will resume from this newer checkpoint, so the suspected one is not read again.
    if (run.suspicion && checkpoint.step > run.suspicion->step) run.suspicion.reset();
    const auto place =
        std::find_if(run.checkpoints.begin(), run.checkpoints.end(),
                     [&](const SealedCheckpoint& other) { return other.step > checkpoint.step; });
    run.checkpoints.insert(place, std::move(checkpoint));
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const RunFinishing& finishing) {
    ASSIGN_OR_RETURN(Run run, Current(finishing.epoch));
    RETURN_IF_ERROR(
        Move(RunState::kFinishing, "the final checkpoint is sealed; ranks are leaving", run));
    Touch(run);
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const RunEnded& ended) {
    ASSIGN_OR_RETURN(Run run, Existing());
    if (!IsTerminal(ended.state)) return Impossible("that state is not an end");
    RETURN_IF_ERROR(ended.set_aside ? SetAside(ended, run) : Move(ended.state, ended.reason, run));
    EndLeg(ended.reason, run);
    run.next_leg.reset();
    run.pausing = false;
    run.finished_at = event_.at;
    run.suspicion.reset();
    if (run.holds_slots) Withdraw(run);
    cluster_.faulty.erase(run.id);
    run.submission = WithoutTexts(run.submission);
    for (EndedLeg& leg : run.ended_legs) leg.submission = WithoutTexts(leg.submission);
    Save(std::move(run));
    return OkStatus();
  }

  // A warning may come twice: the agent sends telemetry again when the acknowledgement was lost.
  Status operator()(const RunWarned& warned) {
    ASSIGN_OR_RETURN(Run run, Existing());
    if (IsTerminal(run.state)) return Impossible("the run has ended");
    if (warned.epoch > run.epoch) return Impossible("its epoch has not begun");
    const std::pair at(warned.epoch, warned.step);
    if (at <= run.warned_at) return Impossible("a warning of that step or a later one is known");
    run.warned_at = at;
    ++run.warnings;
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const RunRequeued& requeued) {
    ASSIGN_OR_RETURN(Run run, Current(requeued.epoch));
    RETURN_IF_ERROR(Move(RunState::kQueued, requeued.reason, run));
    Withdraw(run);
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const RunDraining& draining) {
    ASSIGN_OR_RETURN(Run run, Current(draining.epoch));
    if (run.state != RunState::kRunning) return Impossible("it is not running");
    run.drained_because = draining.reason;
    run.reason = draining.reason + "; the ranks save their last step and leave";
    Touch(run);
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const PauseRequested&) {
    ASSIGN_OR_RETURN(Run run, Existing());
    if (!run.holds_slots) {
      RETURN_IF_ERROR(Move(RunState::kPaused, "paused by " + event_.actor, run));
      run.gave_up = false;
    } else {
      if (!IsAllowed(run.state, RunState::kPaused)) return Impossible("it cannot be paused now");
      run.pausing = true;
    }
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const RunPaused& paused) {
    ASSIGN_OR_RETURN(Run run, Existing());
    if (!run.pausing) return Impossible("nobody asked to pause it");
    RETURN_IF_ERROR(Move(RunState::kPaused, paused.reason, run));
    if (run.holds_slots) Withdraw(run);
    run.pausing = run.gave_up = false;
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const RunResumed&) {
    ASSIGN_OR_RETURN(Run run, Existing());
    if (run.state != RunState::kPaused) return Impossible("it is not paused");
    RETURN_IF_ERROR(Move(RunState::kQueued, "resumed by " + event_.actor, run));
    run.failures_since_seal = 0;
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const LegRequested& requested) {
    ASSIGN_OR_RETURN(Run run, Existing());
    if (run.state == RunState::kCancelling) return Impossible("it is being cancelled");
    const std::string refusal = LegRefusal(run, requested.first_step);
    if (!refusal.empty()) return Impossible(refusal);
    Submission submission = requested.submission;
    submission.request_id = run.submission->request_id;
    submission.body_digest = run.submission->body_digest;
    run.next_leg = {Recorded(std::move(submission)), requested.first_step, requested.why,
                    event_.request_id};
    if (!run.holds_slots) BeginNextLeg(run);
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const LegBegun&) {
    ASSIGN_OR_RETURN(Run run, Existing());
    if (!run.next_leg) return Impossible("nobody asked for another leg");
    if (run.holds_slots) Withdraw(run);
    BeginNextLeg(run);
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const CheckpointPinned& pinned) {
    ASSIGN_OR_RETURN(Run run, Existing());
    SealedCheckpoint* checkpoint = FindSealed({pinned.step, pinned.epoch}, run);
    if (checkpoint == nullptr) return Impossible("no checkpoint of that step is sealed");
    checkpoint->pinned = pinned.pinned;
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const RunAnnotated& annotated) {
    ASSIGN_OR_RETURN(Run run, Existing());
    Annotate(annotated, run);
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const CheckpointsPruned& prune) {
    ASSIGN_OR_RETURN(Run run, Existing());
    for (const PrunedCheckpoint& pruned : prune.checkpoints) {
      SealedCheckpoint* checkpoint = FindSealed(pruned, run);
      if (checkpoint == nullptr) return Impossible("a checkpoint to remove is not sealed");
      checkpoint->retired = true;
    }
    Save(std::move(run));
    return OkStatus();
  }

  Status operator()(const RunDeleted& deletion) {
    const auto earlier = cluster_.FindDeleted(event_.run);
    if (earlier != nullptr) return DeleteKept(deletion, *earlier);
    ASSIGN_OR_RETURN(const Run run, Existing());
    if (!IsTerminal(run.state)) return Impossible("it has not ended");
    if (!deletion.keep_checkpoints && !cluster_.ChildrenOf(run.id).empty()) {
      return Impossible("other runs began from its checkpoints");
    }
    DeletedRun deleted{.id = run.id,
                       .name = run.submission->name,
                       .run_namespace = NamespaceOf(run),
                       .run_directory = run.submission->run_directory,
                       .deleted_by = event_.actor,
                       .deleted_at = event_.at,
                       .request_id = event_.request_id,
                       .checkpoints = deletion.checkpoints,
                       .freed_bytes = deletion.freed_bytes};
    if (deletion.keep_checkpoints) deleted.kept_checkpoints = SealedDirectories(run);
    cluster_.faulty.erase(run.id);
    NoteDeletion();
    cluster_.Delete(run, std::move(deleted));
    return OkStatus();
  }

  Status operator()(const NodeCordoned& cordoned) { return OfNode(cordoned); }
  Status operator()(const NodeUncordoned& uncordoned) { return OfNode(uncordoned); }
  Status operator()(const NodeConnected& connected) {
    ForgetLacking(connected.node);
    return OfNode(connected);
  }
  Status operator()(const NodeDisconnected& disconnected) { return OfNode(disconnected); }
  Status operator()(const NodeReported& reported) { return OfNode(reported); }

  // Ignored if the run continued or ended during the read.
  Status operator()(const CheckpointRead& read) {
    const RunPointer known = cluster_.FindRun(event_.run);
    if (known == nullptr || !known->suspicion) return OkStatus();
    if (known->suspicion->step != read.step || !known->suspicion->asks_coordinator) {
      return OkStatus();
    }
    Run run = *known;
    run.suspicion->verdict.emplace(read.verdict, read.text);
    if (read.verdict == Verdict::kUnreadable) {
      run.suspicion->asks_coordinator = false;
      run.reason = fmt::format("the coordinator cannot read the checkpoint of step {} either: {}",
                               read.step, read.text);
      run.backoff_reason = run.reason;
    }
    cluster_.Set(std::move(run));
    return OkStatus();
  }

  Status operator()(const RunWaiting& waiting) {
    ASSIGN_OR_RETURN(Run run, Existing());
    if (!IsWaiting(run.state) && run.state != RunState::kRunning) {
      return Impossible("it does not wait");
    }
    run.reason = waiting.reason;
    cluster_.Set(std::move(run));
    return OkStatus();
  }

  Status operator()(const Tick& tick) {
    const bool stalled = tick.now - cluster_.now > kStallLimit || tick.unread > kStallLimit;
    if (stalled) cluster_.leases_from = tick.now;
    cluster_.now = tick.now;
    return OkStatus();
  }

 private:
  Status Impossible(const std::string& why) const {
    return FailedPrecondition("event '{}' of run '{}' is impossible: {}", Kind(event_), event_.run,
                              why);
  }

  std::shared_ptr<const Submission> Recorded(Submission submission) const {
    submission.record = sequence_;
    submission.texts_are_stored = false;
    return std::make_shared<const Submission>(std::move(submission));
  }

  StatusOr<Run> Existing() const {
    const RunPointer run = cluster_.FindRun(event_.run);
    if (run == nullptr) return Impossible("the run does not exist");
    return *run;
  }

  // A copy of the run, if `epoch` is its current epoch and it holds slots.
  StatusOr<Run> Current(Epoch epoch) const {
    ASSIGN_OR_RETURN(Run run, Existing());
    if (run.epoch != epoch || !run.holds_slots) {
      return Impossible(
          fmt::format("epoch {} is not in force (the run is at {})", epoch, run.epoch));
    }
    if (IsTerminal(run.state)) return Impossible("the run has ended");
    return run;
  }

  Status Move(RunState to, const std::string& reason, Run& run) const {
    if (!IsAllowed(run.state, to)) {
      return Impossible(fmt::format("{} does not lead to {}", Name(run.state), Name(to)));
    }
    run.state = to;
    run.reason = reason;
    run.state_since = cluster_.now;
    return OkStatus();
  }

  // Ends the run from any state without IsAllowed, because the run may already break a rule.
  Status SetAside(const RunEnded& ended, Run& run) const {
    if (IsTerminal(run.state)) return Impossible("the run has ended");
    run.state = ended.state;
    run.reason = ended.reason;
    run.state_since = cluster_.now;
    run.set_aside = true;
    return OkStatus();
  }

  void EndLeg(const std::string& why, Run& run) const {
    run.leg.why_ended = why;
    run.leg.ended_at = event_.at;
  }

  // Ends the newest leg, if it has not ended, and begins the one that was requested.
  void BeginNextLeg(Run& run) const {
    NextLeg next = *std::exchange(run.next_leg, std::nullopt);
    if (run.leg.why_ended.empty()) {
      EndLeg(run.HasFinalCheckpoint() ? "trained all its steps" : next.why, run);
    }
    run.ended_legs.push_back({run.leg, WithoutTexts(run.submission)});
    const SealedCheckpoint* latest = run.LatestCheckpoint();
    const int64_t newest = latest == nullptr ? -1 : latest->step;
    run.leg = {.number = run.leg.number + 1,
               .engine = NextEngine(run.leg.engine, *next.submission),
               .first_step = next.first_step.value_or(newest),
               .first_epoch = run.epoch + 1,
               .request_id = std::move(next.request_id),
               .why_begun = std::move(next.why),
               .begun_at = event_.at};
    run.submission = std::move(next.submission);
    SupersedeAfter(run.leg.first_step, run);
    run.state = RunState::kQueued;
    run.state_since = cluster_.now;
    run.reason = run.leg.why_begun;
    run.finished_at.reset();
    run.failures_since_seal = 0;
    run.gave_up = run.set_aside = run.cancel_now = run.pausing = false;
    run.suspicion.reset();
    run.lacking_nodes.clear();
    run.resume_step = -1;
  }

  static void SupersedeAfter(int64_t step, Run& run) {
    const auto first =
        std::find_if(run.checkpoints.begin(), run.checkpoints.end(),
                     [step](const SealedCheckpoint& checkpoint) { return checkpoint.step > step; });
    run.superseded.insert(run.superseded.end(), first, run.checkpoints.end());
    run.checkpoints.erase(first, run.checkpoints.end());
  }

  // The checkpoint of that step and epoch that is not retired; null if there is none.
  static SealedCheckpoint* FindSealed(const PrunedCheckpoint& wanted, Run& run) {
    for (auto* sealed : {&run.checkpoints, &run.superseded}) {
      for (SealedCheckpoint& one : *sealed) {
        if (one.step == wanted.step && one.epoch == wanted.epoch && !one.retired) return &one;
      }
    }
    return nullptr;
  }

  // Deletes the checkpoints that the run's deletion kept.
  Status DeleteKept(const RunDeleted& deletion, const DeletedRun& earlier) {
    if (earlier.kept_checkpoints.empty() || deletion.keep_checkpoints) {
      return Impossible("the run was deleted already");
    }
    if (!cluster_.ChildrenOf(earlier.id).empty()) {
      return Impossible("other runs began from its checkpoints");
    }
    DeletedRun deleted = earlier;
    deleted.kept_checkpoints.clear();
    deleted.deleted_by = event_.actor;
    deleted.deleted_at = event_.at;
    deleted.request_id = event_.request_id;
    deleted.checkpoints = deletion.checkpoints;
    deleted.freed_bytes = deletion.freed_bytes;
    NoteDeletion();
    cluster_.deleted.Set(event_.run, std::make_shared<const DeletedRun>(std::move(deleted)));
    return OkStatus();
  }

  // A repeated request finds the run by its request id, also if another run has the name now.
  void NoteDeletion() {
    if (event_.request_id.empty()) return;
    cluster_.requests.Set(event_.request_id, {event_.run, kDeletionDigest});
  }

  StatusOr<Run> Moved(RunState to, const std::string& reason) const {
    ASSIGN_OR_RETURN(Run run, Existing());
    RETURN_IF_ERROR(Move(to, reason, run));
    return run;
  }

  template <typename Body>
  Status OfNode(const Body& body) {
    ApplyToNode(body, event_, cluster_);
    return OkStatus();
  }

  // The node has connected again and the missing data may be there now, so runs may use it again.
  void ForgetLacking(const NodeId& node) {
    for (const auto& [sequence, id] : std::map(cluster_.busy)) {
      const RunPointer known = cluster_.FindRun(id);
      if (!known->lacking_nodes.contains(node)) continue;
      Run run = *known;
      run.lacking_nodes.erase(node);
      cluster_.Set(std::move(run));
    }
  }

  // Records that this event changes the assignments on the run's nodes.
  void Touch(Run& run) {
    if (!run.holds_slots) return;
    run.assigned_sequence = sequence_;
    for (const Placement& placement : run.placement) {
      Node node = NodeOrNew(cluster_, placement.node);
      node.desired_revision = sequence_;
      SaveNode(std::move(node), cluster_);
    }
  }

  void Withdraw(Run& run) {
    Touch(run);
    for (const Placement& placement : run.placement) {
      Node node = NodeOrNew(cluster_, placement.node);
      node.withdrawn[placement.slot] = sequence_;
      SaveNode(std::move(node), cluster_);
    }
    run.drained_because.clear();
    run.holds_slots = false;
  }

  // The run, if its checkpoint of `step` is the suspected one.
  StatusOr<Run> Suspected(int64_t step) const {
    ASSIGN_OR_RETURN(Run run, Existing());
    if (IsTerminal(run.state)) return Impossible("the run has ended");
    if (run.suspicion && run.suspicion->step == step) return run;
    return Impossible(fmt::format("no rank reported its checkpoint of step {} as damaged", step));
  }

  void ApplyDamageReport(const RankFailed& failed, Run& run) const {
    const SealedCheckpoint* newest = run.LatestCheckpoint();
    if (newest == nullptr || newest->step != run.resume_step) {
      ++run.failures_since_seal;
      return;
    }
    const NodeId& node = run.placement.at(static_cast<size_t>(failed.rank)).node;
    if (!run.suspicion || run.suspicion->step != run.resume_step) {
      run.suspicion = Suspicion{.step = run.resume_step};
    }
    Suspicion& suspicion = *run.suspicion;
    const bool is_news = suspicion.told_by.insert(node).second && !suspicion.whole;
    if (!is_news) ++run.failures_since_seal;
    suspicion.asks_coordinator = failed.next_reader == NextReader::kCoordinator;
    suspicion.verdict.reset();
    run.doubtful_nodes.insert(node);
  }

  // Moves a checkpoint whose directory is gone to `quarantined`. Running ranks continue to train.
  Status ApplyLoss(const CheckpointDamaged& lost) {
    ASSIGN_OR_RETURN(Run run, Existing());
    if (run.FindCheckpoint(lost.step) == nullptr) {
      return Impossible("no checkpoint of that step is sealed");
    }
    Quarantine(lost.step, lost.reason, run);
    run.quarantined.back().lost = true;
    if (run.suspicion && run.suspicion->step == lost.step) run.suspicion.reset();
    Save(std::move(run));
    return OkStatus();
  }

  void Quarantine(int64_t step, const std::string& reason, Run& run) const {
    for (auto it = run.checkpoints.begin(); it != run.checkpoints.end();) {
      if (it->step != step) {
        ++it;
        continue;
      }
      run.quarantined.push_back({std::move(*it), reason, event_.at});
      it = run.checkpoints.erase(it);
    }
  }

  void Save(Run run) {
    run.changed_sequence = sequence_;
    if (run.left_queue_sequence == 0 && !IsInQueue(run.state)) run.left_queue_sequence = sequence_;
    cluster_.Set(std::move(run));
  }

  const Event& event_;
  Cluster& cluster_;
  const uint64_t sequence_;
};

}  // namespace

Status Apply(const Event& event, Cluster& cluster) {
  RETURN_IF_ERROR(std::visit(Applier(event, cluster), event.body));
  if (IsDurable(event)) ++cluster.last_sequence;
  ++cluster.version;
  return OkStatus();
}

}  // namespace gp::coordinator
