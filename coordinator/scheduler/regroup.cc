#include "coordinator/scheduler/regroup.h"

#include <algorithm>
#include <utility>

#include "coordinator/scheduler/liveness.h"
#include "coordinator/scheduler/own_exit.h"

namespace gp::coordinator {
namespace {

// Whether a rank's end with this cause says nothing about the others.
bool SparesTheOthers(ExitCause cause) {
  return cause == ExitCause::kUnspecified || cause == ExitCause::kSignal ||
         cause == ExitCause::kOutOfMemory || cause == ExitCause::kStalled ||
         cause == ExitCause::kCollective;
}

bool IsReady(const Run& run, const RankReport* report) {
  return report != nullptr && report->epoch == run.epoch && report->phase >= RankPhase::kReady;
}

// A rank that has not got its state from a peer yet, as far as it is known: the end of such a rank
// does not concern the others. One that has the state reports its step, also after its end.
bool Joins(const Cluster& cluster, const Run& run, const Placement& place) {
  if (!place.joins) return false;
  const RankReport* report = FindReport(cluster, run, place);
  if (report == nullptr) return true;
  return report->step == 0 && !(report->alive() && IsReady(run, report));
}

// Whether a node of the run is silent, but not for as long as its lease: then it is not known yet
// whether its ranks are part of the next group.
bool AwaitsLease(const Cluster& cluster, const Run& run, const Policy& policy) {
  return std::any_of(run.placement.begin(), run.placement.end(), [&](const Placement& place) {
    const auto node = cluster.FindNode(place.node);
    const bool silent = node == nullptr || !node->connected ||
                        cluster.now - node->last_heard > policy.regroup_timeout / 2;
    return silent && !IsLost(cluster, place.node, policy);
  });
}

// Whether the rank works, or waits for a peer that works: it will enter its group.
bool IsBusy(const RankReport& report, const Policy& policy) {
  if (!report.alive() || !report.progress || report.progress->awaits_agent) return false;
  return !report.progress->awaits_peer || report.progress->still < policy.regroup_timeout;
}

}  // namespace

bool Survives(const Cluster& cluster, const Run& run, const Placement& place,
              const Policy& policy) {
  if (IsLost(cluster, place.node, policy) || IsCutOff(cluster, run, place, policy)) return false;
  const RankReport* report = FindReport(cluster, run, place);
  return report != nullptr && report->alive() && !report->incarnation.empty();
}

Placement NextMember(const Cluster& cluster, const Run& run, const Placement& place, int rank) {
  Placement member = place;
  member.rank = rank;
  member.incarnation = FindReport(cluster, run, place)->incarnation;
  member.joins = Joins(cluster, run, place);
  return member;
}

bool HasFinished(const Cluster& cluster, const Run& run, const Placement& place) {
  const RankReport* report = FindReport(cluster, run, place);
  if (report == nullptr) return false;
  return report->phase == RankPhase::kFinished || report->cause == ExitCause::kCompleted;
}

bool IsSettled(const Cluster& cluster, const Run& run) {
  return std::all_of(run.placement.begin(), run.placement.end(), [&](const Placement& place) {
    const RankReport* report = FindReport(cluster, run, place);
    const bool trains =
        report != nullptr && report->epoch == run.epoch && !report->holds &&
        (report->phase == RankPhase::kReady || report->phase == RankPhase::kRunning);
    const auto node = cluster.FindNode(place.node);
    return trains && !report->incarnation.empty() && node != nullptr && node->connected;
  });
}

bool IsNearItsEnd(const Cluster& cluster, const Run& run) {
  const int64_t target = run.submission->target_steps;
  return run.HasFinalCheckpoint() || (target > 0 && LastStepOf(cluster, run) + 1 >= target);
}

std::optional<Action> PlanRegroup(const Cluster& cluster, const Run& run, int lost, ExitCause cause,
                                  const std::string& what, const Policy& policy) {
  if (!GoesOnInPlace(run)) return std::nullopt;
  if (!SparesTheOthers(cause) &&
      !Joins(cluster, run, run.placement.at(static_cast<size_t>(lost)))) {
    return std::nullopt;
  }
  RunReconfigured next{.epoch = run.epoch + 1};
  for (const Placement& place : run.placement) {
    if (HasFinished(cluster, run, place)) return std::nullopt;
    if (place.rank == lost || !Survives(cluster, run, place, policy)) {
      next.failed_joins += Joins(cluster, run, place) ? 1 : 0;
      continue;
    }
    next.members.push_back(NextMember(cluster, run, place, static_cast<int>(next.members.size())));
    next.addresses.push_back(run.group->addresses[static_cast<size_t>(place.rank)]);
  }
  // If none of them has the state of the training, they end and all start again.
  if (std::ssize(next.members) < std::max(run.submission->survivors_min, 1)) return std::nullopt;
  next.reason = fmt::format("{}; {}", what, GoesOnWith(cluster, run, next.members.size()));
  return Action{run.id, std::move(next), "scheduler"};
}

std::string GoesOnWith(const Cluster& cluster, const Run& run, size_t ranks) {
  const auto wanted = static_cast<size_t>(WantedRanks(run));
  return fmt::format("the run goes on with {} of {} ranks since step {}", ranks,
                     std::max(ranks, wanted), LastStepOf(cluster, run));
}

bool IsCutOff(const Cluster& cluster, const Run& run, const Placement& place,
              const Policy& policy) {
  const auto node = cluster.FindNode(place.node);
  if (!GoesOnInPlace(run) || (node != nullptr && node->connected)) return false;
  return std::any_of(run.placement.begin(), run.placement.end(), [&](const Placement& other) {
    const RankReport* report = FindReport(cluster, run, other);
    // After a restart of the coordinator the agents need time to connect again.
    return other.node != place.node && report != nullptr && report->holds &&
           cluster.now - std::max(report->held_since, cluster.leases_from) > policy.blame_delay;
  });
}

std::optional<int> FindLateMember(const Cluster& cluster, const Run& run, const Policy& policy) {
  if (run.state != RunState::kRunning || AwaitsLease(cluster, run, policy)) return std::nullopt;
  const auto overdue = [&](Instant since) {
    // After a restart of the coordinator the group gets the full time again.
    return cluster.now - std::max(since, cluster.leases_from) > policy.regroup_timeout;
  };
  std::optional<int> late;
  for (const Placement& place : run.placement) {
    const RankReport* report = FindReport(cluster, run, place);
    const bool ready = IsReady(run, report);
    if (report != nullptr && !ready && IsBusy(*report, policy)) return std::nullopt;
    // A joiner has waited before its group was decided.
    const bool held = report != nullptr && report->holds &&
                      overdue(std::max(report->held_since, run.regrouped_at));
    const bool missing = !ready && run.epoch > run.placed_epoch && overdue(run.regrouped_at);
    if (!late && (held || missing)) late = place.rank;
  }
  return late;
}

}  // namespace gp::coordinator
