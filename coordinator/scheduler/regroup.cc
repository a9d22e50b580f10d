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

bool MayRegroup(const Run& run) {
  return run.submission->survivors_min > 0 && run.state == RunState::kRunning && run.group &&
         !SumsOnGpus(run) && run.drained_because.empty() && !run.pausing && !run.next_leg;
}

// Whether the rank has its state, so that it can enter another group.
bool Survives(const Cluster& cluster, const Run& run, const Placement& place,
              const Policy& policy) {
  if (IsLost(cluster, place.node, policy) || IsCutOff(cluster, run, place, policy)) return false;
  const RankReport* report = FindReport(cluster, run, place);
  return report != nullptr && report->alive() && !report->incarnation.empty();
}

bool HasFinished(const Cluster& cluster, const Run& run, const Placement& place) {
  const RankReport* report = FindReport(cluster, run, place);
  if (report == nullptr) return false;
  return report->phase == RankPhase::kFinished || report->cause == ExitCause::kCompleted;
}

std::string Describe(const Cluster& cluster, const Run& run, const std::string& what, size_t left) {
  return fmt::format("{}; the run goes on with {} of {} ranks since step {}", what, left,
                     run.submission->workers, LastStepOf(cluster, run));
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

}  // namespace

std::optional<Action> PlanRegroup(const Cluster& cluster, const Run& run, int lost, ExitCause cause,
                                  const std::string& what, const Policy& policy) {
  if (!MayRegroup(run) || !SparesTheOthers(cause)) return std::nullopt;
  RunReconfigured next{.epoch = run.epoch + 1};
  for (const Placement& place : run.placement) {
    if (HasFinished(cluster, run, place)) return std::nullopt;
    if (place.rank == lost || !Survives(cluster, run, place, policy)) continue;
    Placement member = place;
    member.rank = static_cast<int>(next.members.size());
    member.incarnation = FindReport(cluster, run, place)->incarnation;
    next.members.push_back(std::move(member));
    next.addresses.push_back(run.group->addresses[static_cast<size_t>(place.rank)]);
  }
  if (std::ssize(next.members) < std::max(run.submission->survivors_min, 1)) return std::nullopt;
  next.reason = Describe(cluster, run, what, next.members.size());
  return Action{run.id, std::move(next), "scheduler"};
}

bool IsCutOff(const Cluster& cluster, const Run& run, const Placement& place,
              const Policy& policy) {
  const auto node = cluster.FindNode(place.node);
  if (!MayRegroup(run) || (node != nullptr && node->connected)) return false;
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
  for (const Placement& place : run.placement) {
    const RankReport* report = FindReport(cluster, run, place);
    if (report != nullptr && report->holds && overdue(report->held_since)) return place.rank;
    const bool ready =
        report != nullptr && report->epoch == run.epoch && report->phase >= RankPhase::kReady;
    if (!ready && !run.shrunk_because.empty() && overdue(run.regrouped_at)) return place.rank;
  }
  return std::nullopt;
}

}  // namespace gp::coordinator
