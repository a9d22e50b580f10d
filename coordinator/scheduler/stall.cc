#include "coordinator/scheduler/stall.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace gp::coordinator {
namespace {

// Several report intervals long. Agents report at once when a wait becomes too long, or ends.
constexpr std::chrono::milliseconds kReportAgeMax{2500};

double Seconds(std::chrono::milliseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

struct Wait {
  int rank = 0;
  RankProgress progress;
};

// The ranks of the run that have not completed, if all of them wait for a peer for too long; else
// empty.
std::vector<Wait> WaitsOfAll(const Cluster& cluster, const Run& run) {
  std::vector<Wait> waits;
  for (const Placement& place : run.placement) {
    const auto node = cluster.FindNode(place.node);
    if (node == nullptr || !node->connected) return {};
    if (cluster.now - node->last_heard > kReportAgeMax) return {};
    const RankReport* report = FindReport(*node, run, place);
    if (report == nullptr) return {};
    if (report->cause == ExitCause::kCompleted) continue;
    if (!report->alive() || !report->progress) return {};
    const RankProgress& progress = *report->progress;
    if (!progress.awaits_peer || progress.still < progress.limit) return {};
    waits.push_back({place.rank, progress});
  }
  return waits;
}

// REQUIRES: `waits` is not empty.
const Wait& MostAwaited(const std::vector<Wait>& waits) {
  const auto waiters = [&waits](int rank) {
    return std::count_if(waits.begin(), waits.end(),
                         [rank](const Wait& wait) { return wait.progress.peer == rank; });
  };
  return *std::max_element(waits.begin(), waits.end(), [&](const Wait& one, const Wait& other) {
    return std::pair(waiters(one.rank), -one.progress.still) <
           std::pair(waiters(other.rank), -other.progress.still);
  });
}

}  // namespace

std::optional<StalledRank> FindStalledRank(const Cluster& cluster, const Run& run) {
  if (!run.group || run.placement.size() < 2) return std::nullopt;
  const std::vector<Wait> waits = WaitsOfAll(cluster, run);
  if (waits.empty()) return std::nullopt;
  const Wait& awaited = MostAwaited(waits);
  const auto later = *std::min_element(
      waits.begin(), waits.end(),
      [](const Wait& one, const Wait& other) { return one.progress.still < other.progress.still; });
  const NodeId& node = run.placement[static_cast<size_t>(awaited.rank)].node;
  return StalledRank{
      awaited.rank,
      fmt::format("its peers do not reach its process on node {}: every rank has waited for "
                  "another one, in phase {}, for {:.1f} s (limit {:.1f} s)",
                  cluster.NodeName(node), awaited.progress.phase, Seconds(later.progress.still),
                  Seconds(later.progress.limit))};
}

}  // namespace gp::coordinator
