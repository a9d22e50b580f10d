// RunChange: one event that changes a run, and the cluster that it is applied to. Used by Apply and
// the functions that it calls (leg_events.h, checkpoint_events.h). Lives as long as one Apply.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

class RunChange {
 public:
  RunChange(const Event& event, Cluster& cluster)
      : event_(event), cluster_(cluster), sequence_(cluster.last_sequence + 1) {}

  const Event& event() const { return event_; }
  Cluster& cluster() const { return cluster_; }
  // The number that the event gets if it is durable.
  uint64_t sequence() const { return sequence_; }

  // FailedPrecondition, with the event and the run.
  Status Impossible(const std::string& why) const;
  // The submission of this event.
  std::shared_ptr<const Submission> Recorded(Submission submission) const;
  // A copy of the run.
  StatusOr<Run> Existing() const;
  // A copy of the run, if `epoch` is its current epoch and it holds slots.
  StatusOr<Run> Current(Epoch epoch) const;
  // Changes the state of `run`, if IsAllowed.
  Status Move(RunState to, const std::string& reason, Run& run) const;
  // A copy of the run in this state.
  StatusOr<Run> Moved(RunState to, const std::string& reason) const;
  // Records that this event changes the assignments on the run's nodes.
  void Touch(Run& run);
  // Takes one slot of the run away. Its placement stays as it is.
  void WithdrawSlot(const Placement& placement);
  // Takes the slots of the run's joiners away, if it has any.
  void WithdrawJoiners(Run& run);
  // Takes the run's slots away.
  void Withdraw(Run& run);
  // Replaces the run in the cluster.
  void Save(Run run);

 private:
  void TouchNode(const NodeId& id);

  const Event& event_;
  Cluster& cluster_;
  const uint64_t sequence_;
};

}  // namespace gp::coordinator
