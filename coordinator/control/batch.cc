#include "coordinator/control/batch.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "coordinator/scheduler/retention.h"
#include "coordinator/state/queries/run_name.h"

namespace gp::coordinator {
namespace {

// A run changes its state only a few times in one turn. A planner that needs more rounds than this
// is repeating itself.
constexpr int kPlanRoundsMax = 16;

// NCCL ids of a node's running ranks 0, by run. The coordinator sends each id to the other nodes of
// the group.
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
  changed_ = after_.leases_from != before.leases_from;
}

void Batch::SetAside(const Faults& faults) {
  for (const auto& [run, why] : faults) set_aside_.insert(run);
  after_.faulty.insert(faults.begin(), faults.end());
  EndFaulty();
}

StatusOr<Admission> Batch::AdmitEvent(const Event& event) {
  ASSIGN_OR_RETURN(Admission admission, Admit(after_, event));
  if (!admission.append) return admission;
  Event stamped = event;
  stamped.at = now_.wall;
  auto* submit = std::get_if<RunSubmitted>(&stamped.body);
  const bool submitted = submit != nullptr;
  // The name was free when the request was checked; another submit may have taken it since.
  if (submitted) {
    Submission& submission = submit->submission;
    submission.name = FreeRunName(after_, submission.run_namespace, submission.name);
  }
  if (!submitted && set_aside_.contains(event.run)) {
    return FailedPrecondition("run '{}' was set aside", event.run);
  }
  if (auto* prune = std::get_if<CheckpointsPruned>(&stamped.body)) {
    const auto run = after_.FindRun(event.run);
    if (run == nullptr) return NotFound("run '{}' does not exist", event.run);
    prune->checkpoints = PrunableCheckpoints(after_, *run, prune->keep_last);
    if (prune->checkpoints.empty()) return Admission{.replayed = true, .run = event.run};
  }
  RETURN_IF_ERROR(ApplyEvent(stamped));
  if (submitted) EndFaulty();
  return admission;
}

void Batch::Plan(const Policy& policy, const MakeNonce& make_nonce) {
  gp::coordinator::Plan plan;
  for (int round = 0; round < kPlanRoundsMax; ++round) {
    plan = MakePlan(after_, policy, now_);
    if (plan.empty()) return;
    for (const Action& action : plan) ApplyPlanned(action, make_nonce);
  }
  for (const Action& action : plan) {
    const Event event{.run = action.run, .body = action.event};
    if (!IsDurable(event)) continue;  // repeating RunWaiting only changes the reason text
    SetAside({{action.run, fmt::format("the planner returns '{}' endlessly", Kind(event))}});
  }
}

void Batch::ApplyPlanned(const Action& action, const MakeNonce& make_nonce) {
  if (set_aside_.contains(action.run)) return;
  Event event{.run = action.run, .at = now_.wall, .actor = action.actor, .body = action.event};
  if (auto* ready = std::get_if<RunGroupReady>(&event.body)) ready->nonce = make_nonce();
  if (const auto* trial = std::get_if<RunSubmitted>(&event.body)) {
    event.request_id = trial->submission.request_id;
  }
  if (auto* next = std::get_if<RunReconfigured>(&event.body)) next->nonce = make_nonce();
  const Status status = ApplyEvent(event);
  if (!status.ok()) SetAside({{action.run, "the plan is impossible: " + Message(status)}});
}

// Ends every faulty run as failed. Skips runs that are not in the cluster yet, because they are
// submitted later in this batch.
void Batch::EndFaulty() {
  const Faults faults = after_.faulty;
  for (const auto& [id, why] : faults) {
    const auto run = after_.FindRun(id);
    if (run == nullptr) continue;
    after_.faulty.erase(id);
    if (IsTerminal(run->state)) continue;
    const std::string reason = fmt::format(
        "set aside, because the coordinator cannot continue it: {}; this is a bug in gp, please "
        "report it with the coordinator's log",
        why);
    const Status ended = ApplyEvent({.run = id,
                                     .at = now_.wall,
                                     .actor = "scheduler",
                                     .body = RunEnded{RunState::kFailed, reason, true}});
    GP_CHECK(ended.ok(), "{}", Message(ended));
  }
}

Status Batch::ApplyEvent(const Event& event) {
  const auto node_before = after_.FindNode(NodeOf(event));
  const auto run_before = after_.FindRun(event.run);
  RETURN_IF_ERROR(Apply(event, after_));
  changed_ = true;
  if (const auto run = after_.FindRun(event.run)) {
    touched_.insert(event.run);
    TouchNodesOf(*run);
    if (run_before != nullptr) TouchNodesOf(*run_before);  // it may have left some of them
  } else if (std::holds_alternative<RunDeleted>(event.body)) {
    touched_.insert(event.run);
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
  for (const Joiner& joiner : run.joiners) touched_nodes_.insert(joiner.place.node);
}

}  // namespace gp::coordinator
