#include "coordinator/batch.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace gp::coordinator {
namespace {

// A run passes through a handful of states in one turn at most; more means that the planner repeats
// itself.
constexpr int kPlanRoundsMax = 16;

// What the living ranks 0 of a node connect their groups with: the other nodes of the group are
// told it.
using NcclIds = std::set<std::pair<RunId, std::string>>;

NcclIds NcclIdsOf(const Node* node) {
  NcclIds ids;
  if (node == nullptr) return ids;
  for (const RankReport& rank : node->ranks) {
    if (rank.alive() && !rank.nccl_id.empty()) ids.emplace(rank.run, rank.nccl_id);
  }
  return ids;
}

}  // namespace

Batch::Batch(const Cluster& before, const Now& now) : now_(now), after_(before) {
  const Status ticked = Apply({.at = now.wall, .body = Tick{now.instant, now.unread}}, after_);
  GP_CHECK(ticked.ok());
}

StatusOr<Admission> Batch::Take(const Event& event) {
  ASSIGN_OR_RETURN(Admission admission, Admit(after_, event));
  if (!admission.append) return admission;
  Event stamped = event;
  stamped.at = now_.wall;
  RETURN_IF_ERROR(ApplyEvent(stamped));
  return admission;
}

void Batch::Plan(const Policy& policy, const MakeSecret& make_secret) {
  for (int round = 0; round < kPlanRoundsMax; ++round) {
    const gp::coordinator::Plan plan = MakePlan(after_, policy, now_);
    if (plan.empty()) return;
    for (const Action& action : plan) TakePlanned(action, make_secret);
  }
  GP_CHECK(false, "the planner does not come to rest");
}

void Batch::TakePlanned(const Action& action, const MakeSecret& make_secret) {
  Event event{.run = action.run, .at = now_.wall, .actor = action.actor, .body = action.event};
  if (auto* ready = std::get_if<RunGroupReady>(&event.body)) ready->secret = make_secret();
  const Status status = ApplyEvent(event);
  GP_CHECK(status.ok(), "the plan is impossible: {}", Message(status));
}

Status Batch::ApplyEvent(const Event& event) {
  const auto node_before = after_.FindNode(NodeOf(event));
  RETURN_IF_ERROR(Apply(event, after_));
  changed_ = true;
  if (const auto run = after_.FindRun(event.run)) {
    touched_.insert(event.run);
    TouchNodesOf(*run);
  }
  if (const auto node = after_.FindNode(NodeOf(event))) TouchNode(node_before.get(), *node);
  if (IsDurable(event)) durable_.push_back(event);
  return OkStatus();
}

void Batch::TouchNode(const Node* before, const Node& after) {
  touched_nodes_.insert(after.id);
  const NcclIds told = NcclIdsOf(before);
  const NcclIds tells = NcclIdsOf(&after);
  NcclIds changed;
  std::set_symmetric_difference(told.begin(), told.end(), tells.begin(), tells.end(),
                                std::inserter(changed, changed.end()));
  for (const auto& [id, nccl_id] : changed) {
    if (const auto run = after_.FindRun(id)) TouchNodesOf(*run);
  }
}

void Batch::TouchNodesOf(const Run& run) {
  for (const Placement& placement : run.placement) touched_nodes_.insert(placement.node);
}

}  // namespace gp::coordinator
