#include "coordinator/scheduler/shrinking.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/scheduler/placement.h"
#include "coordinator/scheduler/queue.h"
#include "coordinator/scheduler/regroup.h"
#include "coordinator/state/cordon.h"

namespace gp::coordinator {
namespace {

using RunPointer = std::shared_ptr<const Run>;

bool MayShrink(const Cluster& cluster, const Run& run) {
  return run.holds_slots && GoesOnInPlace(run) && IsSettled(cluster, run) &&
         !IsNearItsEnd(cluster, run);
}

// Why the rank must leave its node; empty: it may stay.
std::string WhyItLeaves(const Cluster& cluster, const Placement& place) {
  const auto node = cluster.FindNode(place.node);
  return node == nullptr ? "" : LeaveText(*node);
}

// The run without its ranks on nodes that they must leave; nullopt when none must.
std::optional<RunReconfigured> WithoutLeaving(const Cluster& cluster, const Run& run) {
  RunReconfigured next{.epoch = run.epoch + 1};
  for (const Placement& place : run.placement) {
    const std::string why = WhyItLeaves(cluster, place);
    if (next.reason.empty()) next.reason = why;
    if (!why.empty()) continue;
    next.members.push_back(NextMember(cluster, run, place, static_cast<int>(next.members.size())));
    next.addresses.push_back(run.group->addresses[static_cast<size_t>(place.rank)]);
  }
  if (next.members.size() == run.placement.size()) return std::nullopt;
  next.reason += "; " + GoesOnWith(cluster, run, next.members.size());
  return next;
}

// The run without its last joiner, or without its ranks from `ranks` on.
EventBody WithRanks(const Cluster& cluster, const Run& run, int ranks, const std::string& why) {
  if (!run.joiners.empty()) {
    const Joiner& last = run.joiners.back();
    return JoinerLeft{.epoch = last.epoch,
                      .rank = last.place.rank,
                      .failed = false,
                      .reason = fmt::format("a rank does not join: {}", why)};
  }
  RunReconfigured next{.epoch = run.epoch + 1};
  for (int rank = 0; rank < ranks; ++rank) {
    const auto place = static_cast<size_t>(rank);
    next.members.push_back(NextMember(cluster, run, run.placement[place], rank));
    next.addresses.push_back(run.group->addresses[place]);
  }
  next.reason = fmt::format("{}; {}", why, GoesOnWith(cluster, run, next.members.size()));
  return next;
}

class ShrinkingPlanner {
 public:
  ShrinkingPlanner(const Cluster& cluster, const Policy& policy, const Now& now, Plan& plan)
      : cluster_(cluster), policy_(policy), now_(now), plan_(plan) {}

  void Consider(const RunPointer& run) {
    if (!run->holds_slots || run->submission->survivors_min == 0) return;
    if (MayLeaveInPlace(cluster_, *run) && MayShrink(cluster_, *run)) {
      if (auto next = WithoutLeaving(cluster_, *run)) return Add(*run, std::move(*next));
    }
    const int ranks = static_cast<int>(SlotsOf(*run).size());
    if (ranks > MostRanks(*run) && MayShrink(cluster_, *run)) {
      return Add(*run, WithRanks(cluster_, *run, MostRanks(*run), "the run was resized"));
    }
    if (ranks > WantedRanks(*run)) spare_.push_back(run);
  }

  // Gives spare ranks to the first run that waits, if it then fits.
  void GiveBack() {
    if (spare_.empty()) return;
    const FreeSlots free = FindFreeSlots(cluster_, policy_);
    const Run* waiting = FirstWaiting(free);
    if (waiting == nullptr) return;
    FindUsableNodes(*waiting, free);
    int missing = WantedRanks(*waiting) - ComingSlots();
    if (missing <= 0 || SpareSlots() < missing) return;
    const std::string why =
        fmt::format("run {} ({}) needs the slot", waiting->id, waiting->submission->name);
    // The runs that were submitted last give first.
    for (auto run = spare_.rbegin(); run != spare_.rend() && missing > 0; ++run) {
      const int spare = std::min(SpareOf(**run), missing);
      if (spare == 0) continue;
      missing -= spare;
      const int ranks = static_cast<int>((*run)->placement.size()) - spare;
      Add(**run, WithRanks(cluster_, **run, ranks, why));
    }
  }

 private:
  const Run* FirstWaiting(const FreeSlots& free) const {
    for (const Run* run : WaitingInOrder(cluster_)) {
      const bool later = run->next_leg || run->pausing || AwaitsVerdict(*run) ||
                         (run->state == RunState::kBackoff && now_.wall < run->retry_at);
      if (!later && !TakesGpus(*run, free) && !IsTooLarge(*run, free)) return run;
    }
    return nullptr;
  }

  void FindUsableNodes(const Run& run, const FreeSlots& free) {
    for (const FreeSlots::NodeSlots& node : UsableBy(run, free).nodes) usable_.insert(node.node);
  }

  // The slots of these nodes that no run holds: free ones, and those whose trainer is about to end.
  int ComingSlots() const {
    int slots = 0;
    for (const NodeId& id : usable_) {
      for (const Slot& slot : cluster_.FindNode(id)->slots) {
        slots += !slot.is_gpu() && slot.problem.empty() ? 1 : 0;
      }
    }
    for (const auto& [sequence, id] : cluster_.busy) {
      const auto run = cluster_.FindRun(id);
      if (!run->holds_slots || run->leg.engine.device == Device::kGpu) continue;
      for (const Placement& place : SlotsOf(*run)) slots -= usable_.contains(place.node) ? 1 : 0;
    }
    return slots;
  }

  // How many of the run's last ranks it does not need, if they are on nodes that are usable.
  int SpareOf(const Run& run) const {
    if (!MayShrink(cluster_, run)) return 0;
    const std::vector<Placement> slots = SlotsOf(run);
    int spare = 0;
    for (auto place = slots.rbegin(); place != slots.rend(); ++place) {
      if (static_cast<int>(slots.size()) - spare <= WantedRanks(run)) break;
      if (!usable_.contains(place->node)) break;
      ++spare;
    }
    return spare;
  }

  int SpareSlots() const {
    int slots = 0;
    for (const RunPointer& run : spare_) slots += SpareOf(*run);
    return slots;
  }

  void Add(const Run& run, EventBody event) {
    plan_.push_back({run.id, std::move(event), "scheduler"});
  }

  const Cluster& cluster_;
  const Policy& policy_;
  const Now& now_;
  Plan& plan_;
  std::vector<RunPointer> spare_;  // runs with more ranks than they need
  std::set<NodeId> usable_;        // by the run that waits
};

}  // namespace

bool MayLeaveInPlace(const Cluster& cluster, const Run& run) {
  // Rank 0 may be writing: another one must not lead before it has ended.
  if (!GoesOnInPlace(run) || !WhyItLeaves(cluster, run.placement.front()).empty()) return false;
  const auto staying = std::count_if(
      run.placement.begin(), run.placement.end(),
      [&](const Placement& place) { return !place.joins && WhyItLeaves(cluster, place).empty(); });
  return staying >= std::max(run.submission->survivors_min, 1);
}

void PlanShrinking(const Cluster& cluster, const Policy& policy, const Now& now, Plan& plan) {
  ShrinkingPlanner planner(cluster, policy, now, plan);
  for (const auto& [sequence, id] : cluster.busy) planner.Consider(cluster.FindRun(id));
  if (plan.empty()) planner.GiveBack();
}

}  // namespace gp::coordinator
