#include "coordinator/scheduler/queue.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "base/text/counted_noun.h"
#include "coordinator/scheduler/placement.h"
#include "coordinator/state/start_description.h"

namespace gp::coordinator {
namespace {

// Whether the run must not be placed yet: it waits for a verdict on its checkpoint, or for the time
// of its retry. If the wall clock was set back to before the failure, the retry does not wait.
bool IsPausing(const Run& run, const Now& now) {
  if (AwaitsVerdict(run)) return true;
  return run.state == RunState::kBackoff && now.wall < run.retry_at && now.wall >= run.failed_at;
}

class QueuePlanner {
 public:
  QueuePlanner(const Cluster& cluster, const Policy& policy, const Now& now, Plan& plan)
      : cluster_(cluster), now_(now), free_(FindFreeSlots(cluster, policy)), plan_(plan) {}

  void Consider(const Run& run) {
    // Its ranks have left for another leg or a pause, which this plan begins.
    if (run.next_leg || run.pausing) return;
    if (IsPausing(run, now_)) return Reserve(run);
    const bool gpu = TakesGpus(run, free_);
    DeviceQueue& queue = QueueOf(gpu);
    if (const std::string* reason = TooLarge(run, gpu)) return Wait(run, *reason);
    if (queue.ahead) return PlaceBehind(run, queue, gpu);
    const std::string why_not = WhyNotPlaced(run, free_);
    if (auto placement = Place(run, free_)) return Start(run, std::move(*placement), gpu);
    Wait(run, why_not);
    Block(run, gpu);
  }

 private:
  // A run that waits for GPUs does not block runs that wait for cores.
  struct DeviceQueue {
    bool ahead = false;  // an earlier run of this queue could not be placed
    std::string behind;  // the waiting reason of the runs after this blocked run
    bool rest = false;   // there are free slots that the blocked run cannot use
  };
  DeviceQueue& QueueOf(bool gpu) { return gpu ? gpus_ : cores_; }

  // Why the run waits, if it is too large for all nodes together; else null. Runs in a long queue
  // ask for few different sizes, so each reason is computed once.
  const std::string* TooLarge(const Run& run, bool gpu) {
    if (!IsTooLarge(run, free_)) return nullptr;
    const bool begun = run.epoch > 0;
    std::string& reason = too_large_[{WantedRanks(run), gpu, begun, run.unfit_nodes}];
    if (reason.empty()) reason = WhyNotPlaced(run, free_);
    return &reason;
  }

  // Reserves the run's slots during its pause. The run's reason is the failure message, with the
  // time of the next try and what else the run waits for.
  void Reserve(const Run& run) {
    const bool gpu = TakesGpus(run, free_);
    if (!AwaitsVerdict(run)) Wait(run, PauseReason(run));
    if (!QueueOf(gpu).ahead && !Place(run, free_)) Block(run, gpu);
  }

  // Mentions missing slots only if the run is too large for all nodes together: slots that are busy
  // now may be the run's own, which its ranks leave during the pause.
  std::string PauseReason(const Run& run) const {
    if (!IsTooLarge(run, free_)) return run.backoff_reason;
    return fmt::format("{}; it also waits for slots: {}", run.backoff_reason,
                       WhyNotPlaced(run, free_));
  }

  void Block(const Run& run, bool gpu) {
    if (IsTooLarge(run, free_)) return;
    const int workers = WantedRanks(run);
    HoldSlots(run, gpu);
    QueueOf(gpu) = {
        true,
        fmt::format("queue: behind run {} ({}), which needs {}", run.id, run.submission->name,
                    CountedNoun(workers, gpu ? "GPU slot" : "slot")),
        free_.Count(gpu) > 0};
  }

  // Reserves for the run all free slots on the nodes that it can use.
  void HoldSlots(const Run& run, bool gpu) {
    std::set<NodeId> usable;
    for (const auto& node : UsableBy(run, free_).nodes) usable.insert(node.node);
    for (FreeSlots::NodeSlots& node : free_.nodes) {
      if (!usable.contains(node.node)) continue;
      std::erase_if(node.free, [&](const Slot& slot) { return slot.is_gpu() == gpu; });
    }
  }

  // Places a run that comes after a blocked one, on slots that the blocked one cannot use.
  void PlaceBehind(const Run& run, const DeviceQueue& queue, bool gpu) {
    auto placement = queue.rest ? Place(run, free_) : std::nullopt;
    if (placement) return Start(run, std::move(*placement), gpu);
    Wait(run, queue.behind);
  }

  void Start(const Run& run, std::vector<Placement> placement, bool gpu) {
    if (run.state == RunState::kSubmitted) Add(run, RunQueued{"it fits at once"});
    RunPlaced placed;
    placed.epoch = run.epoch + 1;
    placed.leg = run.leg.number;
    const SealedCheckpoint* resume = run.LatestCheckpoint();
    placed.resume_step = resume == nullptr ? -1 : resume->step;
    placed.threads_per_rank = Threads(run, placement);
    placed.isa = run.leg.engine.isa;
    placed.device = gpu ? Device::kGpu : Device::kCpu;
    placed.reason = Describe(run, placement);
    placed.placement = std::move(placement);
    Add(run, std::move(placed));
  }

  void Wait(const Run& run, const std::string& reason) {
    if (run.state == RunState::kSubmitted) return Add(run, RunQueued{reason});
    if (run.reason != reason) Add(run, RunWaiting{reason});
  }

  void Add(const Run& run, EventBody event) {
    plan_.push_back({run.id, std::move(event), "scheduler"});
  }

  // The first placement fixes the number. The engine's kernels give the same bits with any number
  // of threads, but engine.kind: reference does not: LibTorch sums one part per thread.
  int Threads(const Run& run, const std::vector<Placement>& placement) const {
    if (run.leg.engine.threads_per_rank > 0) return run.leg.engine.threads_per_rank;
    if (run.submission->threads_per_rank > 0) return run.submission->threads_per_rank;
    return CoresPerRank(cluster_, placement);
  }

  std::string Describe(const Run& run, const std::vector<Placement>& placement) const {
    std::string where;
    std::string last;
    for (const Placement& place : placement) {
      const std::string name = cluster_.NodeName(place.node);
      where += where.empty() ? name + ":" : name == last ? "," : " " + name + ":";
      where += place.slot.value();
      last = name;
    }
    const bool again = run.epoch > 0 && run.checkpoints.empty() && run.quarantined.empty();
    return fmt::format("starting on {} {}{}", where, DescribeStart(run, cluster_),
                       again ? " again (no checkpoint was sealed)" : "");
  }

  const Cluster& cluster_;
  const Now& now_;
  FreeSlots free_;
  Plan& plan_;
  DeviceQueue cores_;
  DeviceQueue gpus_;
  // Reasons of TooLarge by everything that they depend on: workers, on GPUs, begun, unfit nodes.
  // Nodes that lack the run's data do not matter: UsableBy leaves one out only when the other nodes
  // are enough, which is never so for a run that is too large.
  std::map<std::tuple<int, bool, bool, std::map<NodeId, std::string>>, std::string> too_large_;
};

}  // namespace

// Called in every turn, so it avoids copies of shared pointers, and sorting where it can.
std::vector<const Run*> WaitingInOrder(const Cluster& cluster) {
  std::vector<const Run*> waiting;
  waiting.reserve(cluster.live.size());
  for (const auto& [sequence, id] : cluster.live) {
    const Run* run = cluster.runs.Find(id)->get();
    if (IsWaiting(run->state) && !run->gave_up) waiting.push_back(run);
  }
  const auto before = [](const Run* a, const Run* b) {
    return a->submission->priority > b->submission->priority;
  };
  if (!std::is_sorted(waiting.begin(), waiting.end(), before)) {
    std::stable_sort(waiting.begin(), waiting.end(), before);
  }
  return waiting;
}

void PlanQueue(const Cluster& cluster, const Policy& policy, const Now& now, Plan& plan) {
  const std::vector<const Run*> waiting = WaitingInOrder(cluster);
  if (waiting.empty()) return;
  QueuePlanner planner(cluster, policy, now, plan);
  for (const Run* run : waiting) planner.Consider(*run);
}

}  // namespace gp::coordinator
