#include "coordinator/state/run_change.h"

#include <utility>

#include "coordinator/state/node_events.h"

namespace gp::coordinator {

Status RunChange::Impossible(const std::string& why) const {
  return FailedPrecondition("event '{}' of run '{}' is impossible: {}", Kind(event_), event_.run,
                            why);
}

std::shared_ptr<const Submission> RunChange::Recorded(Submission submission) const {
  submission.record = sequence_;
  submission.texts_are_stored = false;
  return std::make_shared<const Submission>(std::move(submission));
}

StatusOr<Run> RunChange::Existing() const {
  const std::shared_ptr<const Run> run = cluster_.FindRun(event_.run);
  if (run == nullptr) return Impossible("the run does not exist");
  return *run;
}

StatusOr<Run> RunChange::Current(Epoch epoch) const {
  ASSIGN_OR_RETURN(Run run, Existing());
  if (run.epoch != epoch || !run.holds_slots) {
    return Impossible(fmt::format("epoch {} is not in force (the run is at {})", epoch, run.epoch));
  }
  if (IsTerminal(run.state)) return Impossible("the run has ended");
  return run;
}

Status RunChange::Move(RunState to, const std::string& reason, Run& run) const {
  if (!IsAllowed(run.state, to)) {
    return Impossible(fmt::format("{} does not lead to {}", Name(run.state), Name(to)));
  }
  run.state = to;
  run.reason = reason;
  run.state_since = cluster_.now;
  return OkStatus();
}

StatusOr<Run> RunChange::Moved(RunState to, const std::string& reason) const {
  ASSIGN_OR_RETURN(Run run, Existing());
  RETURN_IF_ERROR(Move(to, reason, run));
  return run;
}

void RunChange::Touch(Run& run) {
  if (!run.holds_slots) return;
  run.assigned_sequence = sequence_;
  for (const Placement& placement : run.placement) TouchNode(placement.node);
  for (const Joiner& joiner : run.joiners) TouchNode(joiner.place.node);
}

void RunChange::TouchNode(const NodeId& id) {
  Node node = NodeOrNew(cluster_, id);
  node.desired_revision = sequence_;
  SaveNode(std::move(node), cluster_);
}

void RunChange::WithdrawSlot(const Placement& placement) {
  Node node = NodeOrNew(cluster_, placement.node);
  node.withdrawn[placement.slot] = sequence_;
  SaveNode(std::move(node), cluster_);
}

void RunChange::WithdrawJoiners(Run& run) {
  for (const Joiner& joiner : run.joiners) {
    TouchNode(joiner.place.node);
    WithdrawSlot(joiner.place);
  }
  run.joiners.clear();
}

void RunChange::Withdraw(Run& run) {
  Touch(run);
  WithdrawJoiners(run);
  for (const Placement& placement : run.placement) WithdrawSlot(placement);
  run.drained_because.clear();
  run.shrunk_because.clear();
  run.holds_slots = false;
}

void RunChange::Save(Run run) {
  run.changed_sequence = sequence_;
  if (run.left_queue_sequence == 0 && !IsInQueue(run.state)) run.left_queue_sequence = sequence_;
  cluster_.Set(std::move(run));
}

}  // namespace gp::coordinator
