// Apply: one function per kind of event. Those of checkpoints, legs, nodes and sweeps are in files
// of their own.
#include <algorithm>

#include "coordinator/state/annotation.h"
#include "coordinator/state/checkpoint_events.h"
#include "coordinator/state/cluster.h"
#include "coordinator/state/leg_events.h"
#include "coordinator/state/node_events.h"
#include "coordinator/state/run_reference.h"
#include "coordinator/state/sweep_events.h"

namespace gp::coordinator {
namespace {

using RunPointer = std::shared_ptr<const Run>;

Leg FirstLeg(const Submission& submission, Timestamp at) {
  return {.engine = {.device = submission.device, .logical_shards = submission.logical_shards},
          .request_id = submission.request_id,
          .why_begun = "submitted",
          .begun_at = at};
}

// Ends the run from any state without IsAllowed, because the run may already break a rule.
Status SetAside(const RunEnded& ended, const RunChange& change, Run& run) {
  if (IsTerminal(run.state)) return change.Impossible("the run has ended");
  run.state = ended.state;
  run.reason = ended.reason;
  run.state_since = change.cluster().now;
  run.set_aside = true;
  return OkStatus();
}

// A repeated request finds the run by its request id, also if another run has the name now.
void NoteDeletion(RunChange& change) {
  if (change.event().request_id.empty()) return;
  change.cluster().requests.Set(change.event().request_id, {change.event().run, kDeletionDigest});
}

// Deletes the checkpoints that the run's deletion kept.
Status DeleteKept(const RunDeleted& deletion, const DeletedRun& earlier, RunChange& change) {
  if (earlier.kept_checkpoints.empty() || deletion.keep_checkpoints) {
    return change.Impossible("the run was deleted already");
  }
  if (!change.cluster().ChildrenOf(earlier.id).empty()) {
    return change.Impossible("other runs began from its checkpoints");
  }
  DeletedRun deleted = earlier;
  deleted.kept_checkpoints.clear();
  deleted.kept_run = nullptr;
  deleted.deleted_by = change.event().actor;
  deleted.deleted_at = change.event().at;
  deleted.request_id = change.event().request_id;
  deleted.checkpoints = deletion.checkpoints;
  deleted.freed_bytes = deletion.freed_bytes;
  NoteDeletion(change);
  change.cluster().deleted.Set(change.event().run,
                               std::make_shared<const DeletedRun>(std::move(deleted)));
  return OkStatus();
}

Status ApplyBody(const RunSubmitted& submitted, RunChange& change) {
  if (change.cluster().FindRun(change.event().run) != nullptr)
    return change.Impossible("the run exists already");
  if (change.cluster().requests.Find(change.event().request_id) != nullptr) {
    return change.Impossible("the request was answered already");
  }
  Run run;
  run.id = change.event().run;
  run.submission = change.Recorded(submitted.submission);
  run.submitted_by = change.event().actor;
  run.labels = submitted.submission.labels;
  run.leg = FirstLeg(submitted.submission, change.event().at);
  run.submitted_sequence = change.sequence();
  run.submitted_at = change.event().at;
  run.state = RunState::kSubmitted;
  run.reason = "submitted";
  change.cluster().requests.Set(change.event().request_id,
                                {change.event().run, submitted.submission.body_digest});
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const RunQueued& queued, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Moved(RunState::kQueued, queued.reason));
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const RunPlaced& placed, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Moved(RunState::kStarting, placed.reason));
  if (placed.leg != run.leg.number) return change.Impossible("its leg is not the newest one");
  if (placed.epoch != run.epoch + 1) return change.Impossible("its epoch is not the next one");
  run.epoch = run.placed_epoch = placed.epoch;
  run.placement = placed.placement;
  for (const Placement& placement : placed.placement) run.hosts.insert(placement.node);
  run.holds_slots = true;
  run.numbered_ranks = static_cast<int>(placed.placement.size());
  run.failed_joins = 0;
  run.group.reset();
  run.go = false;
  run.resume_step = placed.resume_step;
  NoteLostStart(placed.resume_step, run);
  Engine& engine = run.leg.engine;
  engine.threads_per_rank = placed.threads_per_rank;
  engine.isa = placed.isa;
  if (placed.device != Device::kAuto) engine.device = placed.device;
  if (run.suspicion) run.suspicion->asks_coordinator = false;
  change.Touch(run);
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const RunGroupReady& ready, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Current(ready.epoch));
  if (run.state != RunState::kStarting) return change.Impossible("it is not starting");
  run.group = Group{ready.addresses, ready.nonce, ready.encrypted};
  run.leg.engine.isa = ready.isa;
  run.leg.engine.kernels = ready.kernels;
  run.reason = "every rank listens; connecting";
  change.Touch(run);
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const RunStarted& started, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Current(started.epoch));
  RETURN_IF_ERROR(change.Move(RunState::kRunning, kEveryRankReady, run));
  run.go = true;
  for (const Placement& place : run.placement) run.lacking_nodes.erase(place.node);
  if (run.suspicion && run.suspicion->whole) run.suspicion.reset();
  if (!run.started_at) run.started_at = change.event().at;
  change.Touch(run);
  change.Save(std::move(run));
  return OkStatus();
}

// Notes why later ranks of the run avoid the node on which one ended with `cause`.
void NoteNodeOf(ExitCause cause, const NodeId& node, const std::string& why, Instant now,
                Run& run) {
  if (cause == ExitCause::kUnfit) run.unfit_nodes[node] = why;
  if (cause == ExitCause::kStorage) run.doubtful_nodes.insert(node);
  if (cause == ExitCause::kData) run.lacking_nodes[node] = {why, now};
}

Status ApplyBody(const RankFailed& failed, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Current(failed.epoch));
  if (failed.rank < 0 || failed.rank >= static_cast<int>(run.placement.size())) {
    return change.Impossible(
        fmt::format("rank {} is not one of its {}", failed.rank, run.placement.size()));
  }
  RETURN_IF_ERROR(change.Move(RunState::kBackoff, failed.message, run));
  change.Withdraw(run);
  ++run.failures;
  const NodeId node = run.placement[static_cast<size_t>(failed.rank)].node;
  NoteNodeOf(failed.cause, node, failed.message, change.cluster().now, run);
  if (failed.cause == ExitCause::kDamagedCheckpoint) {
    ApplyDamageReport(failed, run);
  } else if (failed.cause != ExitCause::kUnfit && !failed.passes_over) {
    ++run.failures_since_seal;
  }
  if (failed.own_exit) {
    NoteOwnExit(failed.step, node, run);
    NoteOwnExitOn(node, {run.id, change.event().at}, change.cluster());
  }
  run.backoff_reason = run.reason;
  run.failed_at = change.event().at;
  run.retry_at = failed.retry_at;
  run.gave_up = !failed.retry;
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const CancelRequested& cancel, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  const bool hurried = run.state == RunState::kCancelling && cancel.now && !run.cancel_now;
  if (!hurried) RETURN_IF_ERROR(change.Move(RunState::kCancelling, "cancel requested", run));
  run.cancel_now = cancel.now;
  if (!hurried) run.cancel_reason = cancel.reason;
  if (run.holds_slots) {
    run.reason = cancel.now ? "cancel requested; the ranks leave at once"
                            : "cancel requested; the ranks save their last step and leave";
  }
  change.Touch(run);
  change.WithdrawJoiners(run);
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const RunFinishing& finishing, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Current(finishing.epoch));
  RETURN_IF_ERROR(
      change.Move(RunState::kFinishing, "the final checkpoint is sealed; ranks are leaving", run));
  change.Touch(run);
  change.WithdrawJoiners(run);
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const RunEnded& ended, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  if (!IsTerminal(ended.state)) return change.Impossible("that state is not an end");
  RETURN_IF_ERROR(ended.set_aside ? SetAside(ended, change, run)
                                  : change.Move(ended.state, ended.reason, run));
  EndLeg(ended.reason, change.event().at, run);
  run.next_leg.reset();
  run.pausing = false;
  run.finished_at = change.event().at;
  run.ended_sequence = change.sequence();
  run.suspicion.reset();
  if (run.holds_slots) change.Withdraw(run);
  change.cluster().faulty.erase(run.id);
  run.submission = WithoutTexts(run.submission);
  for (EndedLeg& leg : run.ended_legs) leg.submission = WithoutTexts(leg.submission);
  change.Save(std::move(run));
  return OkStatus();
}

// A warning may come twice: the agent sends telemetry again when the acknowledgement was lost.
Status ApplyBody(const RunWarned& warned, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  if (IsTerminal(run.state)) return change.Impossible("the run has ended");
  if (warned.epoch > run.epoch) return change.Impossible("its epoch has not begun");
  const std::pair at(warned.epoch, warned.step);
  if (at <= run.warned_at)
    return change.Impossible("a warning of that step or a later one is known");
  run.warned_at = at;
  ++run.warnings;
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const RunRequeued& requeued, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Current(requeued.epoch));
  RETURN_IF_ERROR(change.Move(RunState::kQueued, requeued.reason, run));
  change.Withdraw(run);
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const RunDraining& draining, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Current(draining.epoch));
  if (run.state != RunState::kRunning) return change.Impossible("it is not running");
  run.drained_because = draining.reason;
  run.reason = draining.reason + "; the ranks save their last step and leave";
  change.Touch(run);
  change.WithdrawJoiners(run);
  change.Save(std::move(run));
  return OkStatus();
}

bool IsSameSlot(const Placement& one, const Placement& other) {
  return one.node == other.node && one.slot == other.slot;
}

const Placement* FindSlot(const std::vector<Placement>& group, const Placement& one) {
  const auto found = std::find_if(group.begin(), group.end(), [&one](const Placement& other) {
    return IsSameSlot(one, other);
  });
  return found == group.end() ? nullptr : &*found;
}

bool IsJoiner(const Run& run, const Placement& place) {
  return std::any_of(run.joiners.begin(), run.joiners.end(),
                     [&](const Joiner& joiner) { return IsSameSlot(joiner.place, place); });
}

void NoteFailedJoin(Timestamp at, Run& run) {
  ++run.failed_joins;
  run.join_failed_at = at;
}

// Whether a rank that joined the group before has got the state there.
bool HasJoined(const RunReconfigured& next, const Run& run) {
  return std::any_of(run.placement.begin(), run.placement.end(), [&](const Placement& place) {
    const Placement* member = FindSlot(next.members, place);
    return place.joins && (member == nullptr || !member->joins);
  });
}

Status ApplyBody(const RunReconfigured& next, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Current(next.epoch - 1));
  if (run.state != RunState::kRunning || !run.group) return change.Impossible("it is not running");
  if (next.members.empty() || next.members.size() != next.addresses.size()) {
    return change.Impossible("its group is not complete");
  }
  for (const Placement& member : next.members) {
    if (FindSlot(run.placement, member) == nullptr && !IsJoiner(run, member)) {
      return change.Impossible("a member holds no slot of it");
    }
  }
  change.Touch(run);
  for (const Placement& place : run.placement) {
    if (FindSlot(next.members, place) == nullptr) change.WithdrawSlot(place);
  }
  if (next.failed_joins > 0) {
    NoteFailedJoin(change.event().at, run);
  } else if (HasJoined(next, run)) {
    run.failed_joins = 0;
  }
  std::erase_if(run.joiners, [&](const Joiner& joiner) {
    return FindSlot(next.members, joiner.place) != nullptr;
  });
  run.epoch = next.epoch;
  run.placement = next.members;
  run.numbered_ranks = static_cast<int>(next.members.size());
  run.group->addresses = next.addresses;
  run.group->nonce = next.nonce;
  run.reason = next.reason;
  run.shrunk_because = run.numbered_ranks < WantedRanks(run) ? next.reason : "";
  run.regrouped_at = change.cluster().now;
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const JoinerPlaced& placed, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Current(placed.epoch));
  if (run.state != RunState::kRunning) return change.Impossible("it is not running");
  if (placed.place.rank != run.numbered_ranks) return change.Impossible("its rank is not the next");
  if (FindSlot(run.placement, placed.place) != nullptr || IsJoiner(run, placed.place)) {
    return change.Impossible("the run holds that slot already");
  }
  run.joiners.push_back({placed.epoch, placed.place});
  ++run.numbered_ranks;
  run.hosts.insert(placed.place.node);
  change.Touch(run);
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const JoinerLeft& left, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  const auto found = std::find_if(run.joiners.begin(), run.joiners.end(), [&](const Joiner& one) {
    return one.epoch == left.epoch && one.place.rank == left.rank;
  });
  if (found == run.joiners.end()) return change.Impossible("it has no such joiner");
  const Placement place = found->place;
  change.Touch(run);
  change.WithdrawSlot(place);
  run.joiners.erase(found);
  if (left.failed) NoteFailedJoin(change.event().at, run);
  NoteNodeOf(left.cause, place.node, left.reason, change.cluster().now, run);
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const RunWaiting& waiting, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  if (!IsWaiting(run.state) && run.state != RunState::kRunning) {
    return change.Impossible("it does not wait");
  }
  run.reason = waiting.reason;
  change.cluster().Set(std::move(run));
  return OkStatus();
}

Status ApplyBody(const RunAnnotated& annotated, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  Annotate(annotated, run);
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const RunDeleted& deletion, RunChange& change) {
  const auto earlier = change.cluster().FindDeleted(change.event().run);
  if (earlier != nullptr) return DeleteKept(deletion, *earlier, change);
  ASSIGN_OR_RETURN(const Run run, change.Existing());
  if (!IsTerminal(run.state)) return change.Impossible("it has not ended");
  if (!deletion.keep_checkpoints && !change.cluster().ChildrenOf(run.id).empty()) {
    return change.Impossible("other runs began from its checkpoints");
  }
  DeletedRun deleted{.id = run.id,
                     .name = run.submission->name,
                     .run_namespace = NamespaceOf(run),
                     .run_directory = run.submission->run_directory,
                     .deleted_by = change.event().actor,
                     .deleted_at = change.event().at,
                     .request_id = change.event().request_id,
                     .checkpoints = deletion.checkpoints,
                     .freed_bytes = deletion.freed_bytes};
  if (deletion.keep_checkpoints) deleted.kept_checkpoints = SealedDirectories(run);
  if (!deleted.kept_checkpoints.empty()) deleted.kept_run = change.cluster().FindRun(run.id);
  change.cluster().faulty.erase(run.id);
  NoteDeletion(change);
  change.cluster().Delete(run, std::move(deleted));
  return OkStatus();
}

// The node has connected again and the missing data may be there now, so runs may use it again.
void ForgetLacking(const NodeId& node, Cluster& cluster) {
  for (const auto& [sequence, id] : std::map(cluster.busy)) {
    const RunPointer known = cluster.FindRun(id);
    if (!known->lacking_nodes.contains(node)) continue;
    Run run = *known;
    run.lacking_nodes.erase(node);
    cluster.Set(std::move(run));
  }
}

Status ApplyBody(const NodeConnected& connected, RunChange& change) {
  ForgetLacking(connected.node, change.cluster());
  ApplyToNode(connected, change.event(), change.cluster());
  return OkStatus();
}

template <typename OfNode>
Status ApplyBody(const OfNode& body, RunChange& change) {
  ApplyToNode(body, change.event(), change.cluster());
  return OkStatus();
}

Status ApplyBody(const Tick& tick, RunChange& change) {
  const bool stalled = tick.now - change.cluster().now > kStallLimit || tick.unread > kStallLimit;
  if (stalled) change.cluster().leases_from = tick.now;
  change.cluster().now = tick.now;
  return OkStatus();
}

}  // namespace

Status Apply(const Event& event, Cluster& cluster) {
  RunChange change(event, cluster);
  RETURN_IF_ERROR(
      std::visit([&](const auto& body) { return ApplyBody(body, change); }, event.body));
  if (IsDurable(event)) ++cluster.last_sequence;
  ++cluster.version;
  return OkStatus();
}

}  // namespace gp::coordinator
