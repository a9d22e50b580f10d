#include "coordinator/state/start_description.h"

#include <algorithm>
#include <string_view>

#include "coordinator/state/initial_model.h"

namespace gp::coordinator {
namespace {

constexpr std::string_view kCheckpoints = "/checkpoints/";

// "base@250" if the path is a checkpoint of a known run; otherwise the path.
std::string NameOf(const std::string& path, const Cluster& cluster) {
  const auto found = FindCheckpointAt(cluster, path);
  if (!found) return path;
  return fmt::format("{}@{}", found->run->submission->name, found->checkpoint.step);
}

}  // namespace

std::optional<KnownCheckpoint> FindCheckpointAt(const Cluster& cluster, const std::string& path) {
  const size_t checkpoints = path.rfind(kCheckpoints);
  if (checkpoints == std::string::npos || checkpoints == 0) return std::nullopt;
  const size_t id = path.rfind('/', checkpoints - 1) + 1;
  auto run = cluster.FindRun(RunId(path.substr(id, checkpoints - id)));
  if (run == nullptr) return std::nullopt;
  for (const auto* sealed : {&run->checkpoints, &run->superseded}) {
    const auto found = std::find_if(sealed->begin(), sealed->end(),
                                    [&](const auto& one) { return one.directory == path; });
    if (found != sealed->end()) return KnownCheckpoint{run, *found};
  }
  return std::nullopt;
}

std::string InitialModelName(const Run& run, const Cluster& cluster) {
  const std::string path = InitialModelOf(*run.submission);
  return path.empty() ? "" : NameOf(path, cluster);
}

std::string DescribeStart(const Run& run, const Cluster& cluster) {
  if (const SealedCheckpoint* own = run.LatestCheckpoint()) {
    return fmt::format("from step {}", own->step);
  }
  const std::string model = InitialModelName(run, cluster);
  const std::string start = model.empty() ? "from scratch" : "from the model " + model;
  if (run.quarantined.empty()) return start;
  const bool lost_all = std::all_of(run.quarantined.begin(), run.quarantined.end(),
                                    [](const auto& held) { return held.lost; });
  return start + (lost_all ? " again (its checkpoints are gone from the storage)"
                           : " again (its checkpoints are damaged or gone)");
}

}  // namespace gp::coordinator
