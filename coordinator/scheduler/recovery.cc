#include "coordinator/scheduler/recovery.h"

#include <algorithm>

#include "base/check.h"
#include "coordinator/scheduler/liveness.h"
#include "coordinator/scheduler/own_exit.h"
#include "coordinator/scheduler/placement.h"
#include "coordinator/scheduler/regroup.h"
#include "coordinator/scheduler/stall.h"
#include "coordinator/scheduler/suspicion.h"
#include "coordinator/state/start_description.h"

namespace gp::coordinator {
namespace {

struct Fault {
  int rank = 0;
  ExitCause cause = ExitCause::kUnspecified;
  std::string message;
  Instant since{};
  bool own_exit = false;
};

// How likely this rank caused the failure instead of suffering from it; higher is more likely.
int Blame(const Fault& fault) {
  const bool certain = fault.cause == ExitCause::kConfig || fault.cause == ExitCause::kUnfit ||
                       fault.cause == ExitCause::kDamagedCheckpoint ||
                       fault.cause == ExitCause::kData || fault.cause == ExitCause::kDiverged;
  if (certain) return 4;
  if (fault.cause == ExitCause::kStopped) return 2;
  return fault.cause == ExitCause::kCollective ? 1 : 3;
}

std::optional<Fault> FaultOfReport(const Cluster& cluster, const Run& run, const Placement& place,
                                   const Node& node) {
  const RankReport* report = FindReport(node, run, place);
  if (report == nullptr) {
    // When the group exists, every rank has reported once. If the node's next complete report does
    // not list this rank, its process is gone.
    if (!run.group || !node.connected) return std::nullopt;
    return Fault{place.rank, ExitCause::kUnspecified,
                 fmt::format("node {} no longer runs it (its agent restarted)", node.name),
                 cluster.now};
  }
  if (!report->alive() && report->cause != ExitCause::kCompleted) {
    std::string message = fmt::format("{} on node {}", Name(report->cause), node.name);
    if (!report->message.empty()) message = report->message;
    if (report->cause == ExitCause::kUnfit) {
      message = fmt::format("node {} is refused: {}", node.name, message);
    } else if (report->cause == ExitCause::kData) {
      message = fmt::format("node {} cannot use the run's data: {}", node.name, message);
    } else if (report->cause == ExitCause::kStalled && !report->message.empty()) {
      message = fmt::format("its process on node {} {}", node.name, message);
    }
    return Fault{place.rank, report->cause, message, report->exited_at, IsOwnExit(*report)};
  }
  const auto index = static_cast<size_t>(place.rank);
  if (run.group && report->alive() && report->phase >= RankPhase::kListening &&
      report->address != run.group->addresses[index]) {
    return Fault{place.rank, ExitCause::kUnspecified, "its process was replaced", cluster.now};
  }
  return std::nullopt;
}

// The rank's fault, if it has one. A reported exit stays valid when the node is lost later.
std::optional<Fault> FaultOf(const Cluster& cluster, const Run& run, const Placement& place,
                             const Policy& policy) {
  const auto node = cluster.FindNode(place.node);
  const RankReport* report = FindReport(cluster, run, place);
  const bool ended = report != nullptr && !report->alive();
  if (!ended && IsLost(cluster, place.node, policy)) {
    return Fault{place.rank, ExitCause::kUnspecified,
                 fmt::format("node {} was silent for more than {} s", cluster.NodeName(place.node),
                             std::chrono::duration<double>(policy.lease).count()),
                 cluster.now};
  }
  if (!ended && IsCutOff(cluster, run, place, policy)) {
    return Fault{place.rank, ExitCause::kUnspecified,
                 fmt::format("node {} lost its connection, and its ranks left the group",
                             cluster.NodeName(place.node)),
                 cluster.now};
  }
  return node == nullptr ? std::nullopt : FaultOfReport(cluster, run, place, *node);
}

std::optional<Fault> WorstFault(const Cluster& cluster, const Run& run, const Policy& policy) {
  std::optional<Fault> worst;
  for (const Placement& place : run.placement) {
    auto fault = FaultOf(cluster, run, place, policy);
    if (fault && (!worst || Blame(*fault) > Blame(*worst))) worst = std::move(fault);
  }
  return worst;
}

bool EveryRankExited(const Cluster& cluster, const Run& run, const Policy& policy) {
  return std::all_of(run.placement.begin(), run.placement.end(),
                     [&](const Placement& place) { return IsGone(cluster, run, place, policy); });
}

// Ranks that wait for another group take no step, so they save nothing either.
bool NoRankTrains(const Cluster& cluster, const Run& run, const Policy& policy) {
  return std::all_of(run.placement.begin(), run.placement.end(), [&](const Placement& place) {
    const RankReport* report = FindReport(cluster, run, place);
    return IsGone(cluster, run, place, policy) || (report != nullptr && report->holds);
  });
}

std::optional<Fault> StartFault(const Cluster& cluster, const Run& run, const Policy& policy) {
  if (run.state != RunState::kStarting) return std::nullopt;
  // state_since is not stored, so after a coordinator restart the run gets the full timeout again.
  const Instant since = std::max(run.state_since, cluster.leases_from);
  if (cluster.now - since <= policy.start_timeout) return std::nullopt;
  return Fault{0, ExitCause::kUnspecified,
               fmt::format("not every rank was ready within {} s",
                           std::chrono::duration<double>(policy.start_timeout).count()),
               cluster.now};
}

std::optional<Fault> LateFault(const Cluster& cluster, const Run& run, const Policy& policy) {
  const auto late = FindLateMember(cluster, run, policy);
  if (!late) return std::nullopt;
  return Fault{*late, ExitCause::kUnspecified,
               fmt::format("it was not back in a group {} s after it lost a peer",
                           std::chrono::duration<double>(policy.regroup_timeout).count()),
               cluster.now};
}

std::optional<Fault> StallFault(const Cluster& cluster, const Run& run) {
  const auto stalled = FindStalledRank(cluster, run);
  if (!stalled) return std::nullopt;
  return Fault{stalled->rank, ExitCause::kStalled, stalled->message, cluster.now};
}

std::chrono::microseconds RetryDelay(const Run& run) {
  auto delay = run.submission->retry_backoff;
  for (int i = 0; i < run.failures_since_seal && delay < run.submission->retry_backoff_max; ++i) {
    delay *= 2;
  }
  return std::min(delay,
                  std::max(run.submission->retry_backoff, run.submission->retry_backoff_max));
}

// Whether the run's data was readable at some time. If it is missing now, it may come back.
bool HadData(const Run& run) { return run.started_at || run.submission->data_seen; }

// Whether every retry would give the same error until a person fixes the cause.
bool IsHopeless(const Run& run, ExitCause cause) {
  if (cause == ExitCause::kData) return !HadData(run);
  return cause == ExitCause::kConfig || cause == ExitCause::kSpawnFailed ||
         cause == ExitCause::kDiverged;
}

// Whether other nodes take over from one that lacks the run's data.
bool PassesOver(const Cluster& cluster, const Run& run, const Fault& fault, const Policy& policy) {
  if (fault.cause != ExitCause::kData) return false;
  const NodeId& node = run.placement.at(static_cast<size_t>(fault.rank)).node;
  return FitsWithout(node, run, FindFreeSlots(cluster, policy));
}

// The run goes back to its newest checkpoint and on after the step that diverged, or it ends.
void Rollback(const Run& run, const std::string& what, const Now& now, RankFailed& failed) {
  const int rollbacks_max = run.submission->rollbacks_max;
  const SealedCheckpoint* const checkpoint = run.LatestCheckpoint();
  failed.retry = run.rollbacks < rollbacks_max && checkpoint != nullptr && failed.step >= 0;
  failed.retry_at = now.wall;
  if (failed.retry) {
    failed.message = fmt::format(
        "{}; going back to the checkpoint of step {} and on after step {}, without the batches in "
        "between: {} of {} times (stability.rollbacks_max)",
        what, checkpoint->step, failed.step + 1, run.rollbacks + 1, rollbacks_max);
  } else if (checkpoint == nullptr) {
    failed.message = what + "; there is no checkpoint to go back to";
  } else {
    failed.message = fmt::format("{}; gave up after going back {} times (stability.rollbacks_max)",
                                 what, run.rollbacks);
  }
}

// Failures that cannot repeat forever do not count towards retries_max: an unfit node is not used
// again, one that lacks the data is avoided for a while, and after a few damage reports the verdict
// on a checkpoint is known.
Action Report(const Cluster& cluster, const Run& run, const Fault& fault, const Policy& policy,
              const Now& now) {
  RankFailed failed{.epoch = run.epoch, .rank = fault.rank, .cause = fault.cause};
  const int attempt = run.failures_since_seal + 1;
  failed.passes_over = PassesOver(cluster, run, fault, policy);
  const bool hopeless = IsHopeless(run, fault.cause);
  failed.retry = !hopeless && attempt <= run.submission->retries_max;
  failed.own_exit = fault.own_exit;
  failed.step = LastStepOf(cluster, run);
  const std::string what = fmt::format("rank {}: {}", fault.rank, fault.message);
  const std::string end = fault.own_exit ? EndOfRetries(cluster, run, fault.rank, failed.step) : "";
  if (!end.empty()) {
    failed.retry = false;
    failed.message = what + end;
    return {run.id, std::move(failed), "scheduler"};
  }
  if (fault.cause == ExitCause::kDiverged && run.submission->rollbacks_max > 0) {
    Rollback(run, what, now, failed);
    return {run.id, std::move(failed), "scheduler"};
  }
  DamageReport damage;
  if (fault.cause == ExitCause::kDamagedCheckpoint) {
    damage = JudgeDamageReport(cluster, run, fault.rank, policy);
    failed.next_reader = damage.next_reader;
  }
  if (fault.cause == ExitCause::kUnfit || damage.excused) {
    failed.retry = true;
    failed.retry_at = now.wall;
    failed.message = what + damage.what_next;
  } else if (failed.passes_over) {
    failed.retry = true;
    failed.retry_at = now.wall;
    failed.message = fmt::format(
        "{}; this run avoids that node for {:.0f} min, or until it connects again", what,
        std::chrono::duration<double, std::ratio<60>>(policy.data_recheck).count());
  } else if (failed.retry) {
    const auto delay = RetryDelay(run);
    failed.retry_at = now.wall + delay;
    failed.message =
        fmt::format("{}; retry {} of {} in {:.1f} s{}", what, attempt, run.submission->retries_max,
                    std::chrono::duration<double>(delay).count(), damage.what_next);
  } else if (hopeless) {
    failed.message = what + "; retrying cannot help";
  } else {
    failed.message =
        fmt::format("{}; gave up after {} failures without a new checkpoint", what, attempt);
  }
  return {run.id, std::move(failed), "scheduler"};
}

// Requeues the run when every rank has exited or waits for another group, or after leave_timeout:
// until then rank 0 may be saving. A group that takes no steps has nothing to save, so it does not
// wait.
std::optional<Action> Requeue(const Cluster& cluster, const Run& run, const Policy& policy,
                              const Fault& fault) {
  const bool may_save = run.state == RunState::kRunning &&
                        cluster.now - fault.since < policy.leave_timeout &&
                        !NoRankTrains(cluster, run, policy);
  if (may_save) return std::nullopt;
  const std::string stopped = fmt::format("rank {}: {}", fault.rank, fault.message);
  return RequeueAction(cluster, run, run.drained_because.empty() ? stopped : run.drained_because);
}

std::string PausedText(const Run& run) {
  const SealedCheckpoint* latest = run.LatestCheckpoint();
  if (latest == nullptr) return "paused before its first checkpoint";
  return fmt::format("paused at step {}", latest->step);
}

}  // namespace

Action RequeueAction(const Cluster& cluster, const Run& run, const std::string& why) {
  if (run.pausing) return {run.id, RunPaused{PausedText(run)}, "scheduler"};
  if (run.next_leg) return {run.id, RunRequeued{run.epoch, why}, "scheduler"};
  std::string reason =
      fmt::format("{}; resumes {} when slots are free", why, DescribeStart(run, cluster));
  return {run.id, RunRequeued{run.epoch, std::move(reason)}, "scheduler"};
}

std::optional<Action> FindFailure(const Cluster& cluster, const Run& run, const Policy& policy,
                                  const Now& now) {
  GP_CHECK(run.holds_slots);
  std::optional<Fault> fault = WorstFault(cluster, run, policy);
  if (!fault) fault = StallFault(cluster, run);
  if (!fault) fault = StartFault(cluster, run, policy);
  if (!fault) fault = LateFault(cluster, run, policy);
  if (!fault) return std::nullopt;
  if (fault->cause == ExitCause::kStopped) return Requeue(cluster, run, policy, *fault);
  const bool messenger = fault->cause == ExitCause::kCollective;
  if (messenger && cluster.now - fault->since < policy.blame_delay &&
      !EveryRankExited(cluster, run, policy)) {
    return std::nullopt;
  }
  if (!FindLateMember(cluster, run, policy)) {
    const std::string what = fmt::format("rank {}: {}", fault->rank, fault->message);
    if (auto next = PlanRegroup(cluster, run, fault->rank, fault->cause, what, policy)) return next;
  }
  return Report(cluster, run, *fault, policy, now);
}

}  // namespace gp::coordinator
