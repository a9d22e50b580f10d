#include "coordinator/scheduler/placement.h"

#include <algorithm>
#include <set>

#include "base/text/counted_noun.h"
#include "coordinator/scheduler/liveness.h"

namespace gp::coordinator {
namespace {

using NodeSlots = FreeSlots::NodeSlots;
using HeldSlots = std::set<std::pair<NodeId, SlotId>>;

HeldSlots FindHeldSlots(const Cluster& cluster) {
  HeldSlots held;
  for (const auto& [sequence, id] : cluster.busy) {
    const auto run = cluster.FindRun(id);
    if (!run->holds_slots) continue;
    for (const Placement& placement : SlotsOf(*run)) held.emplace(placement.node, placement.slot);
  }
  return held;
}

bool IsOccupied(const Node& node, const SlotId& slot) {
  if (node.withdrawn.contains(slot)) return true;
  return std::any_of(node.ranks.begin(), node.ranks.end(),
                     [&](const RankReport& rank) { return rank.slot == slot && rank.alive(); });
}

int FreeCount(const NodeSlots& node, bool gpu) {
  return static_cast<int>(std::count_if(node.free.begin(), node.free.end(),
                                        [&](const Slot& slot) { return slot.is_gpu() == gpu; }));
}

void PlaceOn(NodeSlots& node, bool gpu, size_t wanted, std::vector<Placement>& placement) {
  for (auto it = node.free.begin(); it != node.free.end() && placement.size() < wanted;) {
    if (it->is_gpu() != gpu) {
      ++it;
      continue;
    }
    placement.push_back({static_cast<int>(placement.size()), node.node, it->id});
    it = node.free.erase(it);
  }
}

void RemoveSlot(const Placement& place, FreeSlots& free) {
  for (NodeSlots& node : free.nodes) {
    if (node.node != place.node) continue;
    std::erase_if(node.free, [&](const Slot& slot) { return slot.id == place.slot; });
  }
}

void RemoveNode(const NodeId& id, const std::string& reason, FreeSlots& free) {
  std::erase_if(free.nodes, [&](const NodeSlots& node) {
    if (node.node != id) return false;
    free.cpu_total -= node.cpu_total;
    free.gpu_total -= node.gpu_total;
    free.unusable = reason;
    return true;
  });
}

// `free` without the nodes that cannot compute with the run's kernels.
FreeSlots FitFor(const Run& run, FreeSlots free) {
  for (const auto& [node, reason] : run.unfit_nodes) RemoveNode(node, reason, free);
  return free;
}

int TotalOf(const FreeSlots& free, const NodeId& id, bool gpu) {
  for (const NodeSlots& node : free.nodes) {
    if (node.node == id) return gpu ? node.gpu_total : node.cpu_total;
  }
  return 0;
}

// The nodes that lack the run's data, the newest report first.
std::vector<std::pair<NodeId, LackingNode>> LackingNow(const Run& run, const FreeSlots& free) {
  std::vector<std::pair<NodeId, LackingNode>> lacking;
  for (const auto& entry : run.lacking_nodes) {
    if (entry.second.since >= free.data_reports_from) lacking.push_back(entry);
  }
  std::sort(lacking.begin(), lacking.end(),
            [](const auto& a, const auto& b) { return a.second.since > b.second.since; });
  return lacking;
}

// The node with the fewest free slots that still holds the whole gang.
NodeSlots* TightestFit(FreeSlots& free, bool gpu, int wanted) {
  NodeSlots* best = nullptr;
  for (NodeSlots& node : free.nodes) {
    const int count = FreeCount(node, gpu);
    if (count >= wanted && (best == nullptr || count < FreeCount(*best, gpu))) best = &node;
  }
  return best;
}

NodeSlots* Roomiest(FreeSlots& free, bool gpu) {
  NodeSlots* best = nullptr;
  for (NodeSlots& node : free.nodes) {
    if (best == nullptr || FreeCount(node, gpu) > FreeCount(*best, gpu)) best = &node;
  }
  return best;
}

FreeSlots Trusted(const Run& run, FreeSlots free) {
  std::erase_if(free.nodes,
                [&](const NodeSlots& slots) { return run.doubtful_nodes.contains(slots.node); });
  return free;
}

std::optional<std::vector<Placement>> Choose(FreeSlots free, bool gpu, int wanted) {
  if (free.Count(gpu) < wanted) return std::nullopt;
  std::vector<Placement> placement;
  if (NodeSlots* whole = TightestFit(free, gpu, wanted)) {
    PlaceOn(*whole, gpu, static_cast<size_t>(wanted), placement);
  }
  while (static_cast<int>(placement.size()) < wanted) {
    PlaceOn(*Roomiest(free, gpu), gpu, static_cast<size_t>(wanted), placement);
  }
  return placement;
}

// Takes `wanted` slots that the run may use out of `free`, on doubtful nodes only if the others
// have no room.
std::optional<std::vector<Placement>> AssignSlots(const Run& run, bool gpu, int wanted,
                                                  FreeSlots& free) {
  FreeSlots usable = UsableBy(run, free);
  auto placement = Choose(Trusted(run, usable), gpu, wanted);
  if (!placement) placement = Choose(std::move(usable), gpu, wanted);
  if (!placement) return std::nullopt;
  for (const Placement& place : *placement) RemoveSlot(place, free);
  return placement;
}

std::string WhatIsUnusable(const FreeSlots& free, bool gpu) {
  std::string also = free.unusable.empty() ? "" : "; " + free.unusable;
  if (!free.cordoned.empty()) also += "; " + free.cordoned;
  if (gpu && !free.unusable_gpu.empty()) also += "; " + free.unusable_gpu;
  return also;
}

std::string NoneAtAll(const Run& run, bool gpu, const std::string& need, bool some_cordoned) {
  if (some_cordoned) return fmt::format("needs {}, no open node offers any", need);
  if (!gpu) return fmt::format("needs {}, no node offers any; start gp-worker on a node", need);
  // Suggest CPUs only to a new run. A run that has begun on GPUs stays on GPUs, because CPUs would
  // give other results.
  const char* or_else = run.epoch == 0 ? ", or set resources.device: cpu" : "";
  return fmt::format(
      "no GPU in the fleet: needs {}, no node offers any; start gp-worker on a machine with an "
      "NVIDIA GPU{}",
      need, or_else);
}

// Collects which of the connected nodes have a cordon, and why.
class Cordons {
 public:
  void Add(const Node& node) {
    ++nodes_;
    if (!node.cordon) return;
    ++(node.cordon->drain ? drained_ : cordoned_);
    const int count = drained_ + cordoned_;
    if (count > kNamedMax) return;
    names_ += (count == 1 ? "" : ", ") + node.name;
    if (!node.cordon->reason.empty()) names_ += " (" + node.cordon->reason + ")";
  }

  std::string Text() const {
    const int count = drained_ + cordoned_;
    if (count == 0) return "";
    const char* what = drained_ == 0    ? "cordoned"
                       : cordoned_ == 0 ? "drained"
                                        : "cordoned or drained";
    return fmt::format("{} of {} nodes {} {}: {}{}", count, nodes_, count == 1 ? "is" : "are", what,
                       names_, count > kNamedMax ? ", …" : "");
  }

 private:
  static constexpr int kNamedMax = 3;

  int nodes_ = 0;
  int cordoned_ = 0;
  int drained_ = 0;
  std::string names_;
};

}  // namespace

int FreeSlots::Count(bool gpu) const {
  int count = 0;
  for (const NodeSlots& node : nodes) count += FreeCount(node, gpu);
  return count;
}

FreeSlots FindFreeSlots(const Cluster& cluster, const Policy& policy) {
  FreeSlots free;
  const HeldSlots held = FindHeldSlots(cluster);
  Cordons cordons;
  for (const auto& [id, node] : cluster.nodes) {
    if (!node->connected || IsLost(cluster, id, policy)) continue;
    cordons.Add(*node);
    if (node->cordon) {
      for (const Slot& slot : node->slots)
        ++(slot.is_gpu() ? free.gpu_cordoned : free.cpu_cordoned);
      continue;
    }
    if (!node->gpu_problem.empty()) {
      free.unusable_gpu = fmt::format("node {}: {}", node->name, node->gpu_problem);
    }
    if (!node->storage_problem.empty()) {
      free.unusable = fmt::format("node {} is not used: {}", node->name, node->storage_problem);
      continue;
    }
    NodeSlots slots{.node = id, .name = node->name};
    for (const Slot& slot : node->slots) {
      if (!slot.problem.empty()) {
        (slot.is_gpu() ? free.unusable_gpu : free.unusable) =
            fmt::format("{} of node {} is not used: {}", slot.id, node->name, slot.problem);
        continue;
      }
      ++(slot.is_gpu() ? slots.gpu_total : slots.cpu_total);
      if (!held.contains({id, slot.id}) && !IsOccupied(*node, slot.id)) slots.free.push_back(slot);
    }
    free.cpu_total += slots.cpu_total;
    free.gpu_total += slots.gpu_total;
    free.nodes.push_back(std::move(slots));
  }
  free.cordoned = cordons.Text();
  free.data_reports_from = cluster.now - policy.data_recheck;
  std::sort(free.nodes.begin(), free.nodes.end(), [](const NodeSlots& a, const NodeSlots& b) {
    return std::tie(a.name, a.node) < std::tie(b.name, b.node);
  });
  return free;
}

FreeSlots UsableBy(const Run& run, FreeSlots free) {
  const bool gpu = TakesGpus(run, free);
  free = FitFor(run, std::move(free));
  for (const auto& [node, lacking] : LackingNow(run, free)) {
    const int others = free.Total(gpu) - TotalOf(free, node, gpu);
    if (others >= run.submission->workers) RemoveNode(node, lacking.reason, free);
  }
  return free;
}

bool FitsWithout(const NodeId& node, const Run& run, FreeSlots free) {
  const bool gpu = TakesGpus(run, free);
  free = FitFor(run, std::move(free));
  for (const auto& [lacks, lacking] : LackingNow(run, free)) RemoveNode(lacks, "", free);
  RemoveNode(node, "", free);
  return free.Total(gpu) >= run.submission->workers;
}

bool TakesGpus(const Run& run, const FreeSlots& all) {
  if (run.leg.engine.device != Device::kAuto) return run.leg.engine.device == Device::kGpu;
  // GPUs of cordoned nodes count too: a cordon ends, but the run keeps this choice of device.
  return all.gpu_total + all.gpu_cordoned >= run.submission->workers;
}

std::optional<std::vector<Placement>> Place(const Run& run, FreeSlots& free) {
  return AssignSlots(run, TakesGpus(run, free), run.submission->workers, free);
}

std::optional<Placement> PlaceOneMore(const Run& run, FreeSlots& free) {
  const auto placement = AssignSlots(run, /*gpu=*/false, 1, free);
  return placement ? std::optional(placement->front()) : std::nullopt;
}

std::string WhyNotPlaced(const Run& run, const FreeSlots& all) {
  const FreeSlots free = UsableBy(run, all);
  const bool gpu = TakesGpus(run, all);
  const int total = free.Total(gpu);
  const std::string need = CountedNoun(run.submission->workers, gpu ? "GPU slot" : "slot");
  const std::string also = WhatIsUnusable(free, gpu);
  if (total == 0)
    return fmt::format("placement: {}{}", NoneAtAll(run, gpu, need, free.Cordoned(gpu) > 0), also);
  if (IsTooLarge(run, free)) {
    return fmt::format(
        "placement: needs {}, all nodes together have {}; add nodes or lower resources.workers{}",
        need, total, also);
  }
  return fmt::format("placement: needs {}, {} free of {}{}", need, free.Count(gpu), total, also);
}

bool IsTooLarge(const Run& run, const FreeSlots& all) {
  const bool gpu = TakesGpus(run, all);
  int total = all.Total(gpu);
  for (const NodeSlots& node : all.nodes) {
    if (run.unfit_nodes.contains(node.node)) total -= gpu ? node.gpu_total : node.cpu_total;
  }
  return run.submission->workers > total;
}

int CoresPerRank(const Cluster& cluster, const std::vector<Placement>& placement) {
  size_t cores_min = 0;
  for (const Placement& place : placement) {
    const auto node = cluster.FindNode(place.node);
    for (const Slot& slot : node->slots) {
      if (slot.id != place.slot) continue;
      cores_min = cores_min == 0 ? slot.cores.size() : std::min(cores_min, slot.cores.size());
    }
  }
  return std::max(1, static_cast<int>(cores_min));
}

}  // namespace gp::coordinator
