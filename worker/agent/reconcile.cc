#include "worker/agent/reconcile.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "worker/agent/assignment_check.h"

namespace gp::agent {
namespace {

constexpr const char* kLeaving = "the agent is being stopped";

using Assignments = std::map<RankKey, const v1::Assignment*>;

Assignments Index(const v1::DesiredState& desired) {
  Assignments index;
  for (const v1::Assignment& assignment : desired.assignments()) {
    index[KeyOf(assignment)] = &assignment;
  }
  return index;
}

// The rank of an earlier epoch whose process continues as this assignment; null if there is none.
const Rank* FindContinued(const v1::Assignment& assignment, const RankTable& ranks) {
  if (assignment.incarnation().empty()) return nullptr;
  for (const auto& [key, rank] : ranks.all()) {
    if (key.run_id == assignment.run_id() && key.epoch < assignment.epoch() &&
        rank.slot_id == assignment.slot_id() && rank.incarnation == assignment.incarnation()) {
      return &rank;
    }
  }
  return nullptr;
}

// A newer epoch of the run is on this node, so this one is out of date even if it is listed.
bool Superseded(const RankTable& ranks, const RankKey& key) {
  for (const auto& [other, rank] : ranks.all()) {
    if (other.run_id == key.run_id && other.epoch > key.epoch) return true;
  }
  return false;
}

// A process of an older epoch may still write to the run's directory. The next epoch's process is
// not started until the older one is reaped.
bool PredecessorAlive(const RankTable& ranks, const RankKey& key) {
  for (const auto& [other, rank] : ranks.all()) {
    if (other.run_id == key.run_id && other.epoch < key.epoch && !rank.exited()) return true;
  }
  return false;
}

std::optional<Action> Begin(const v1::Assignment& assignment, const RankTable& ranks,
                            const SlotTable& slots, const ReconcileOptions& options,
                            AgentMode mode) {
  const RankKey key = KeyOf(assignment);
  // A rank that joins runs beside the other ranks of its run, which may be of any epoch.
  if (!assignment.joins() && Superseded(ranks, key)) return std::nullopt;
  const std::string refusal = AssignmentRefusal(assignment, options.storage_root);
  if (!refusal.empty()) {
    return Decline{assignment, {v1::EXIT_CAUSE_CONFIG, 0, "the agent refuses it: " + refusal}};
  }
  if (assignment.stop()) {
    return Decline{assignment, {v1::EXIT_CAUSE_STOPPED, 0, "stopped before it was started"}};
  }
  if (mode == AgentMode::kLeaving) {
    return Decline{assignment, {v1::EXIT_CAUSE_STOPPED, 0, kLeaving}};
  }
  if (assignment.has_membership()) {
    // The group needs the process that listened here. It ended with the previous agent.
    return Decline{assignment,
                   {v1::EXIT_CAUSE_ERROR, 0, "its trainer ended when the agent was restarted"}};
  }
  if (slots.Find(assignment.slot_id()) == nullptr) {
    return Decline{assignment,
                   {v1::EXIT_CAUSE_SPAWN_FAILED, 0,
                    fmt::format("slot '{}' does not exist on this node; it has {}",
                                assignment.slot_id(), slots.Names())}};
  }
  const SlotHealth& health = slots.Find(assignment.slot_id())->health;
  if (!health.problem.empty()) {
    // The coordinator gets this report and tries another node.
    return Decline{assignment, {v1::EXIT_CAUSE_ERROR, 0, health.problem}};
  }
  if (ranks.SlotBusy(assignment.slot_id())) return std::nullopt;
  if (!assignment.joins() && PredecessorAlive(ranks, key)) return std::nullopt;
  return Spawn{assignment};
}

std::optional<std::string> SealRefusal(const v1::Assignment& assignment, int64_t step) {
  for (const v1::RefusedSeal& refused : assignment.refused_seals()) {
    if (refused.step() == step) return refused.reason();
  }
  return std::nullopt;
}

bool Sealed(const v1::Assignment& assignment, int64_t step) {
  for (const int64_t sealed : assignment.sealed_steps()) {
    if (sealed == step) return true;
  }
  return false;
}

void AnswerSeals(const Rank& rank, const v1::Assignment& assignment, std::vector<Action>& actions) {
  for (const v1::WrittenCheckpoint& written : rank.written) {
    if (Sealed(assignment, written.step())) {
      actions.push_back(SendSealResult{rank.key, written.step(), true, ""});
    } else if (const auto reason = SealRefusal(assignment, written.step())) {
      actions.push_back(SendSealResult{rank.key, written.step(), false, *reason});
    }
  }
}

// Stops a trainer in steps: Stop with time to save, Stop without, SIGTERM, SIGKILL.
void Stop(const Rank& rank, const std::string& reason, bool at_once,
          const ReconcileOptions& options, MonotonicTime now, std::vector<Action>& actions) {
  const bool overdue = rank.told_stop_at && now - *rank.told_stop_at >= options.save_grace;
  if (!rank.told_stop_now_at) {
    if (at_once || overdue) {
      actions.push_back(SendStop{rank.key, reason, std::nullopt});
    } else if (!rank.told_stop_at) {
      actions.push_back(SendStop{rank.key, reason, options.save_grace});
    }
    return;
  }
  const auto waited = now - *rank.told_stop_now_at;
  if (waited >= options.terminate_after + options.kill_after_terminate) {
    actions.push_back(Kill{rank.key, "did not stop when asked"});
  } else if (waited >= options.terminate_after && !rank.told_terminate) {
    actions.push_back(Terminate{rank.key});
  }
}

// False while the NCCL id is missing: a coordinator that has just restarted may not have rank 0's
// report yet.
bool IsComplete(const v1::Membership& membership) {
  return !membership.needs_nccl_id() || !membership.nccl_id().empty();
}

void Advance(const Rank& rank, const v1::Assignment& assignment, std::vector<Action>& actions) {
  const bool listening = rank.phase >= v1::RANK_PHASE_LISTENING;
  const bool told_all = assignment.has_membership() && IsComplete(assignment.membership());
  if (listening && told_all && !rank.configured) {
    const std::string refusal = MembershipRefusal(assignment);
    if (!refusal.empty()) {
      actions.push_back(Kill{rank.key, "the agent refuses its group: " + refusal});
      return;
    }
    actions.push_back(SendConfigure{rank.key, assignment.membership(), assignment.choices()});
  }
  if (rank.phase == v1::RANK_PHASE_READY && assignment.go() && !rank.told_go) {
    actions.push_back(SendGo{rank.key});
  }
}

std::optional<std::string> Overrun(const Rank& rank, const ReconcileOptions& options,
                                   MonotonicTime now) {
  if (rank.phase == v1::RANK_PHASE_STARTING && now - rank.phase_since >= options.start_timeout) {
    return "it did not start to listen for its peers in time (trainer.start_timeout)";
  }
  if (rank.link_lost_at && now - *rank.link_lost_at >= options.exit_grace) {
    return "it closed its link but did not exit";
  }
  const bool done = rank.phase == v1::RANK_PHASE_FINISHED && rank.written.empty();
  if (done && now - rank.phase_since >= options.finish_timeout) {
    return "it finished but did not exit";
  }
  return std::nullopt;
}

std::optional<std::string> LostSlot(const Rank& rank, const SlotTable& slots) {
  const SlotInfo* slot = slots.Find(rank.slot_id);
  if (slot == nullptr || !slot->health.lost) return std::nullopt;
  return slot->health.problem;
}

// Whether the coordinator may still take the rank away, so that its run goes on without it.
bool MayBeTaken(const Rank& rank, const v1::Assignment* assignment, const ReconcileOptions& options,
                MonotonicTime now) {
  return assignment != nullptr && assignment->regroups() && rank.leaves_since &&
         !rank.told_stop() && now - *rank.leaves_since < options.regroup_grace;
}

void Tend(const Rank& rank, const v1::DesiredState* desired, const v1::Assignment* assignment,
          const SlotTable& slots, const ReconcileOptions& options, MonotonicTime now,
          AgentMode mode, std::vector<Action>& actions) {
  if (rank.exited()) {
    if (desired != nullptr && assignment == nullptr && rank.exit_reported) {
      actions.push_back(Forget{rank.key});
    }
    return;
  }
  if (rank.killed) return;
  if (assignment != nullptr) AnswerSeals(rank, *assignment, actions);
  if (desired != nullptr && assignment == nullptr) {
    actions.push_back(Kill{rank.key, "the coordinator cancelled its assignment"});
  } else if (const auto lost = LostSlot(rank, slots)) {
    actions.push_back(Kill{rank.key, *lost});
  } else if (const auto reason = Overrun(rank, options, now)) {
    actions.push_back(Kill{rank.key, *reason});
  } else if (!rank.hang.empty() && !rank.told_stop()) {
    actions.push_back(Kill{rank.key, rank.hang, /*hung=*/true});
  } else if (assignment != nullptr && assignment->stop()) {
    Stop(rank, assignment->stop_reason(), assignment->stop_now(), options, now, actions);
  } else if (mode == AgentMode::kLeaving && !MayBeTaken(rank, assignment, options, now)) {
    Stop(rank, kLeaving, /*at_once=*/false, options, now, actions);
  } else if (assignment != nullptr) {
    Advance(rank, *assignment, actions);
  }
}

}  // namespace

std::vector<Action> Reconcile(const v1::DesiredState* desired, const RankTable& ranks,
                              const SlotTable& slots, const ReconcileOptions& options,
                              MonotonicTime now, AgentMode mode) {
  std::vector<Action> actions;
  const Assignments wanted = desired == nullptr ? Assignments() : Index(*desired);
  std::set<RankKey> continued;  // ranks that go on in a later epoch, and what they go on as
  for (const auto& [key, assignment] : wanted) {
    const Rank* earlier = ranks.Find(key) == nullptr ? FindContinued(*assignment, ranks) : nullptr;
    if (earlier == nullptr) continue;
    continued.insert({earlier->key, key});
    actions.push_back(Continue{earlier->key, key});
    Rank later = *earlier;
    ContinueAs(key, now, later);
    Tend(later, desired, assignment, slots, options, now, mode, actions);
  }
  for (const auto& [key, rank] : ranks.all()) {
    if (continued.contains(key)) continue;
    const auto found = wanted.find(key);
    Tend(rank, desired, found == wanted.end() ? nullptr : found->second, slots, options, now, mode,
         actions);
  }
  std::set<std::string> taken;
  for (const auto& [key, assignment] : wanted) {
    if (ranks.Find(key) != nullptr || continued.contains(key)) continue;
    if (taken.contains(assignment->slot_id())) continue;
    auto action = Begin(*assignment, ranks, slots, options, mode);
    if (!action) continue;
    if (std::holds_alternative<Spawn>(*action)) taken.insert(assignment->slot_id());
    actions.push_back(std::move(*action));
  }
  return actions;
}

bool NewestDesiredState::Accept(const v1::DesiredState& desired) {
  const auto age = [](const v1::DesiredState& state) {
    return std::pair(state.coordinator_generation(), state.revision());
  };
  if (known_ && age(desired) < age(current_)) return false;
  if (desired.assignments_size() > kAssignmentsMax) return false;
  current_ = desired;
  known_ = true;
  return true;
}

}  // namespace gp::agent
