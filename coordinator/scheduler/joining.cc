#include "coordinator/scheduler/joining.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/text/counted_noun.h"
#include "coordinator/scheduler/liveness.h"
#include "coordinator/scheduler/own_exit.h"
#include "coordinator/scheduler/placement.h"
#include "coordinator/scheduler/queue.h"
#include "coordinator/scheduler/regroup.h"
#include "coordinator/state/cordon.h"

namespace gp::coordinator {
namespace {

const RankReport* FindJoiner(const Cluster& cluster, const Run& run, const Joiner& joiner) {
  const auto node = cluster.nodes.find(joiner.place.node);
  if (node == cluster.nodes.end()) return nullptr;
  return node->second->FindRank(run.id, joiner.epoch, joiner.place.rank);
}

std::string NameOf(const Cluster& cluster, const Placement& place) {
  return fmt::format("{}:{}", cluster.NodeName(place.node), place.slot);
}

// The event for a joiner that does not join any more; nullopt while it may.
std::optional<JoinerLeft> FindEnd(const Cluster& cluster, const Run& run, const Joiner& joiner,
                                  const Policy& policy) {
  JoinerLeft left{.epoch = joiner.epoch, .rank = joiner.place.rank};
  const std::string name = NameOf(cluster, joiner.place);
  const RankReport* report = FindJoiner(cluster, run, joiner);
  if (report != nullptr && !report->alive()) {
    left.cause = report->cause;
    left.failed = report->cause != ExitCause::kStopped;
    const std::string why =
        report->message.empty() ? std::string(Name(report->cause)) : report->message;
    left.reason = fmt::format("the rank that was to join on {} ended: {}", name, why);
    return left;
  }
  if (IsLost(cluster, joiner.place.node, policy)) {
    left.reason = fmt::format("the rank that was to join on {} is lost: its node is silent", name);
    return left;
  }
  const auto node = cluster.FindNode(joiner.place.node);
  const std::string leave = node == nullptr ? "" : LeaveText(*node);
  if (leave.empty()) return std::nullopt;
  left.failed = false;
  left.reason = fmt::format("the rank on {} does not join: {}", name, leave);
  return left;
}

bool IsConnected(const Cluster& cluster, const NodeId& id) {
  const auto node = cluster.FindNode(id);
  return node != nullptr && node->connected;
}

bool IsStandingBy(const Cluster& cluster, const Joiner& joiner, const RankReport* report) {
  return report != nullptr && report->alive() && report->holds && !report->address.empty() &&
         !report->incarnation.empty() && IsConnected(cluster, joiner.place.node);
}

// The run's group with the joiners that are ready; nullopt while there are none, or while others
// are expected soon.
std::optional<RunReconfigured> PlanJoin(const Cluster& cluster, const Run& run,
                                        const Policy& policy) {
  if (run.joiners.empty() || !IsSettled(cluster, run) || IsNearItsEnd(cluster, run)) {
    return std::nullopt;
  }
  RunReconfigured next{.epoch = run.epoch + 1};
  for (const Placement& place : run.placement) {
    next.members.push_back(NextMember(cluster, run, place, place.rank));
  }
  next.addresses = run.group->addresses;
  std::string joined;
  Instant since = cluster.now;
  for (const Joiner& joiner : run.joiners) {
    const RankReport* report = FindJoiner(cluster, run, joiner);
    if (!IsStandingBy(cluster, joiner, report)) continue;
    Placement member = joiner.place;
    member.rank = static_cast<int>(next.members.size());
    member.incarnation = report->incarnation;
    member.joins = true;
    since = std::min(since, report->held_since);
    joined += (joined.empty() ? "" : ", ") + NameOf(cluster, member);
    next.addresses.push_back(report->address);
    next.members.push_back(std::move(member));
  }
  const size_t count = next.members.size() - run.placement.size();
  const bool all = count == run.joiners.size();
  if (count == 0 || (!all && cluster.now - since < policy.join_gather)) return std::nullopt;
  next.reason = fmt::format("{} joined on {}; {}", CountedNoun(static_cast<int64_t>(count), "rank"),
                            joined, GoesOnWith(cluster, run, next.members.size()));
  return next;
}

// After a joiner failed. A wall clock that was set back ends the pause.
bool PausesJoining(const Run& run, const Policy& policy, const Now& now) {
  if (run.failed_joins == 0 || now.wall < run.join_failed_at) return false;
  std::chrono::nanoseconds pause = policy.join_pause;
  for (int i = 1; i < run.failed_joins && pause < policy.join_pause_max; ++i) pause *= 2;
  return now.wall - run.join_failed_at < std::min(pause, policy.join_pause_max);
}

int RanksAndJoiners(const Run& run) { return static_cast<int>(SlotsOf(run).size()); }

constexpr int kNobodyWaits = std::numeric_limits<int>::min();

class JoiningPlanner {
 public:
  JoiningPlanner(const Cluster& cluster, const Policy& policy, const Now& now, Plan& plan)
      : cluster_(cluster), policy_(policy), now_(now), plan_(plan) {}

  void Consider(const std::shared_ptr<const Run>& run) {
    if (!run->holds_slots) return;
    for (const Joiner& joiner : run->joiners) {
      if (auto left = FindEnd(cluster_, *run, joiner, policy_)) return Add(*run, std::move(*left));
    }
    if (!GoesOnInPlace(*run)) return;
    if (auto next = PlanJoin(cluster_, *run, policy_)) return Add(*run, std::move(*next));
    const bool may_start = !PausesJoining(*run, policy_, now_) && !IsNearItsEnd(cluster_, *run);
    if (RanksAndJoiners(*run) < MostRanks(*run) && may_start) lacking_.push_back(run);
  }

  // Starts joiners: first those of runs that lack ranks, the higher priority first.
  void Place() {
    if (lacking_.empty()) return;
    std::stable_sort(lacking_.begin(), lacking_.end(), [](const auto& a, const auto& b) {
      const auto rank = [](const Run& run) {
        return std::pair(RanksAndJoiners(run) >= WantedRanks(run), -run.submission->priority);
      };
      return rank(*a) < rank(*b);
    });
    FreeSlots free = FindFreeSlots(cluster_, policy_);
    const int waiting = HighestWaitingPriority(free);
    for (const auto& run : lacking_) {
      const bool spare = RanksAndJoiners(*run) >= WantedRanks(*run);
      if (spare ? waiting > kNobodyWaits : run->submission->priority < waiting) continue;
      auto place = PlaceOneMore(*run, free);
      if (!place) continue;
      place->rank = run->numbered_ranks;
      std::string reason =
          fmt::format("a rank starts on {} to join the run", NameOf(cluster_, *place));
      Add(*run, JoinerPlaced{run->epoch, std::move(*place), std::move(reason)});
    }
  }

 private:
  // The highest priority of the runs that wait for slots of CPU cores and could ever get them.
  int HighestWaitingPriority(const FreeSlots& free) const {
    for (const Run* run : WaitingInOrder(cluster_)) {
      if (!TakesGpus(*run, free) && !IsTooLarge(*run, free)) return run->submission->priority;
    }
    return kNobodyWaits;
  }

  void Add(const Run& run, EventBody event) {
    plan_.push_back({run.id, std::move(event), "scheduler"});
  }

  const Cluster& cluster_;
  const Policy& policy_;
  const Now& now_;
  Plan& plan_;
  std::vector<std::shared_ptr<const Run>> lacking_;
};

}  // namespace

void PlanJoining(const Cluster& cluster, const Policy& policy, const Now& now, Plan& plan) {
  JoiningPlanner planner(cluster, policy, now, plan);
  for (const auto& [sequence, id] : cluster.busy) planner.Consider(cluster.FindRun(id));
  planner.Place();
}

}  // namespace gp::coordinator
