// Batch: what one turn of the Reconciler does, on a copy of the cluster: requests and reports are
// applied in order, then the plan. Nothing of it is visible before its durable events are. Belongs
// to one thread.
//
// A mistake of ours about one run costs that run and nothing else: when what was planned for it is
// impossible, or the cluster calls it faulty, it is set aside, which is to end as failed with the
// reason.
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

// Draws the secret of a group.
using MakeSecret = std::function<std::string()>;

class Batch {
 public:
  using Faults = std::map<RunId, std::string>;

  Batch(const Cluster& before, const Now& now);

  // Sets these runs aside before anything else happens to them; one that is submitted later in the
  // batch right after that.
  void SetAside(const Faults& faults);

  // The answer to be given once the batch is durable, or the refusal. Events of nodes are always
  // taken.
  StatusOr<Admission> Take(const Event& event);

  // Plans until nothing is left to decide.
  void Plan(const Policy& policy, const MakeSecret& make_secret);

  const Cluster& after() const { return after_; }
  // For the last time.
  Cluster TakeAfter() { return std::move(after_); }
  const std::vector<Event>& durable() const { return durable_; }
  // Runs about which something else is to be told than before.
  const std::set<RunId>& touched() const { return touched_; }
  // Nodes whose agents may have to be told something else than before.
  const std::set<NodeId>& touched_nodes() const { return touched_nodes_; }
  // Something besides the time is new.
  bool changed() const { return changed_; }

 private:
  void TakePlanned(const Action& action, const MakeSecret& make_secret);
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
