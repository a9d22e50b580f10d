// Batch: what one turn of the Reconciler does, on a copy of the cluster: requests and reports are
// applied in order, then the plan. Nothing of it is visible before its durable events are. Belongs
// to one thread.
#pragma once

#include <functional>
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
  Batch(const Cluster& before, const Now& now);

  // The answer to be given once the batch is durable, or the refusal. Volatile events are always
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
  Status ApplyEvent(const Event& event);
  // `before`: null for a node that is new.
  void TouchNode(const Node* before, const Node& after);
  void TouchNodesOf(const Run& run);

  Now now_;
  Cluster after_;
  std::vector<Event> durable_;
  std::set<RunId> touched_;
  std::set<NodeId> touched_nodes_;
  bool changed_ = false;
};

}  // namespace gp::coordinator
