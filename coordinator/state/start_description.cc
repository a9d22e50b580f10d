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

// The run whose checkpoint's directory `path` is, also a deleted one whose checkpoints were kept;
// null if it is unknown, or `path` is another file.
std::shared_ptr<const Run> RunOfCheckpoint(const Cluster& cluster, const std::string& path) {
  const size_t checkpoints = path.rfind(kCheckpoints);
  if (checkpoints == std::string::npos || checkpoints == 0) return nullptr;
  const size_t id = path.rfind('/', checkpoints - 1) + 1;
  return cluster.FindRunOrKept(RunId(path.substr(id, checkpoints - id)));
}

bool IsBelow(std::string_view path, std::string_view directory) {
  return path == directory ||
         (path.starts_with(directory) && path.substr(directory.size()).starts_with('/'));
}

// The deleted run in whose directory `path` is; null if there is none.
std::shared_ptr<const DeletedRun> DeletedRunAt(const Cluster& cluster, std::string_view path) {
  for (size_t begin = 1; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const auto run = cluster.FindDeleted(RunId(std::string(path.substr(begin, end - begin))));
    // A copy elsewhere is not the run's.
    if (run != nullptr && IsBelow(path, run->run_directory)) return run;
    begin = end + 1;
  }
  return nullptr;
}

// A deleted run has only its kept checkpoints.
std::string DeletedRefusal(const DeletedRun& run, const std::string& path) {
  const bool is_kept = std::any_of(run.kept_checkpoints.begin(), run.kept_checkpoints.end(),
                                   [&](const std::string& kept) { return IsBelow(path, kept); });
  if (is_kept) return "";
  const std::string kept = run.kept_checkpoints.empty()
                               ? ""
                               : fmt::format(", who kept {} of its checkpoints, not this one",
                                             run.kept_checkpoints.size());
  return fmt::format(
      "run '{}' ({}), to which {} belonged, was deleted by {}{}; begin from another "
      "model",
      run.name, run.id, path, run.deleted_by, kept);
}

}  // namespace

std::optional<KnownCheckpoint> FindCheckpointAt(const Cluster& cluster, const std::string& path) {
  auto run = RunOfCheckpoint(cluster, path);
  if (run == nullptr) return std::nullopt;
  for (const auto* sealed : {&run->checkpoints, &run->superseded}) {
    const auto found = std::find_if(sealed->begin(), sealed->end(),
                                    [&](const auto& one) { return one.directory == path; });
    if (found != sealed->end()) return KnownCheckpoint{run, *found};
  }
  return std::nullopt;
}

std::string DeletedModelRefusal(const Cluster& cluster, const std::string& path) {
  const auto run = DeletedRunAt(cluster, path);
  return run == nullptr ? "" : DeletedRefusal(*run, path);
}

std::string InitialModelRefusal(const Cluster& cluster, const std::string& path) {
  std::string deleted = DeletedModelRefusal(cluster, path);
  if (!deleted.empty()) return deleted;
  const auto run = RunOfCheckpoint(cluster, path);
  if (run == nullptr || cluster.FindDeleted(run->id) != nullptr) return "";
  const std::string& name = run->submission->name;
  if (const auto found = FindCheckpointAt(cluster, path)) {
    if (!found->checkpoint.retired) return "";
    return fmt::format(
        "the checkpoint of step {} of run {} was removed; begin from another one: gpctl ckpt list "
        "{}",
        found->checkpoint.step, name, run->id);
  }
  for (const QuarantinedCheckpoint& held : run->quarantined) {
    if (held.checkpoint.directory != path) continue;
    return fmt::format(
        "the checkpoint of step {0} of run {1} is in quarantine: {2}; gpctl ckpt verify {3}@{0} "
        "brings it back if it is intact",
        held.checkpoint.step, name, held.reason, run->id);
  }
  // A copy elsewhere is not the run's.
  if (!path.starts_with(run->submission->run_directory + std::string(kCheckpoints))) return "";
  return fmt::format("{} is not a sealed checkpoint of run {}; begin from one: gpctl ckpt list {}",
                     path, name, run->id);
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
  const char* const what = run.submission->keeps_data_position ? "checkpoint" : "model";
  const std::string start =
      model.empty() ? "from scratch" : fmt::format("from the {} {}", what, model);
  // Those of earlier legs, beyond the step where the newest began, are not missed.
  const auto is_missed = [](const QuarantinedCheckpoint& held) { return !held.superseded; };
  if (std::none_of(run.quarantined.begin(), run.quarantined.end(), is_missed)) return start;
  const bool lost_all =
      std::all_of(run.quarantined.begin(), run.quarantined.end(),
                  [&](const auto& held) { return held.lost || !is_missed(held); });
  return start + (lost_all ? " again (its checkpoints are gone from the storage)"
                           : " again (its checkpoints are damaged or gone)");
}

}  // namespace gp::coordinator
