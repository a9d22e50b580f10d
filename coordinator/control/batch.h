// Batch: one turn of the Reconciler. It works on a copy of the cluster: it applies requests and
// reports in order, then the plan. Nothing of it is visible before its durable events are stored.
// Belongs to one thread.
//
// A bug in the coordinator that concerns one run ends that run only. When the plan for a run is
// impossible or never becomes empty, or the cluster marks the run as faulty, the run is set aside:
// it ends as failed, with the reason.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/scheduler/planner.h"
#include "coordinator/state/admission.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// Draws the nonce of a group.
using MakeNonce = std::function<std::string()>;

class Batch {
 public:
  using Faults = std::map<RunId, std::string>;

  Batch(const Cluster& before, const Now& now);

  // Sets these runs aside before anything else happens to them. A run that is submitted later in
  // this batch is set aside right after its submission.
  void SetAside(const Faults& faults);

  // Admits and applies an event. A submitted run whose name was taken meanwhile gets a free one. A
  // prune gets the checkpoints that can be removed now; if there is none, nothing is appended.
  // Returns the answer to send when the batch is durable, or the refusal, of Admit or of Apply.
  // NodeConnected, NodeReported and NodeDisconnected are never refused.
  StatusOr<Admission> AdmitEvent(const Event& event);

  // Plans and applies until the plan is empty. A run that still has durable actions after 16 rounds
  // is set aside.
  void Plan(const Policy& policy, const MakeNonce& make_nonce);

  const Cluster& after() const { return after_; }
  // The cluster after this batch. Call it once, as the last call.
  Cluster TakeAfter() { return std::move(after_); }
  const std::vector<Event>& durable() const { return durable_; }
  // Runs that an applied event named.
  const std::set<RunId>& touched() const { return touched_; }
  // Nodes that an event was about, and nodes whose assignment may have changed.
  const std::set<NodeId>& touched_nodes() const { return touched_nodes_; }
  // True if anything except the time changed. A lease restart counts as a change.
  bool changed() const { return changed_; }

 private:
  void ApplyPlanned(const Action& action, const MakeNonce& make_nonce);
  void EndFaulty();
  Status ApplyEvent(const Event& event);
  // `before`: null for a node that is new.
  void TouchNode(const Node* before, const Node& after);
  void TouchNodesOf(const Run& run);

  Now now_;
  Cluster after_;
  std::vector<Event> durable_;
  std::set<RunId> touched_;
  std::set<NodeId> touched_nodes_;
  std::set<RunId> set_aside_;  // nothing else happens to them
  bool changed_ = false;
};

}  // namespace gp::coordinator
