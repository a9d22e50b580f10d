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

// Of a deleted run only the kept checkpoints still exist, and copies elsewhere.
std::string DeletedRefusal(const DeletedRun& run, const std::string& path) {
  const bool is_kept = std::find(run.kept_checkpoints.begin(), run.kept_checkpoints.end(), path) !=
                       run.kept_checkpoints.end();
  if (is_kept || !path.starts_with(run.run_directory + std::string(kCheckpoints))) return "";
  return fmt::format("{} belonged to run '{}', which was deleted by {}; {} of its checkpoints stay",
                     path, run.name, run.deleted_by, run.kept_checkpoints.size());
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

std::string InitialModelRefusal(const Cluster& cluster, const std::string& path) {
  const auto run = RunOfCheckpoint(cluster, path);
  if (run == nullptr) return "";
  if (const auto deleted = cluster.FindDeleted(run->id)) return DeletedRefusal(*deleted, path);
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
    if (own->step >= run.passes_over) return fmt::format("from step {}", own->step);
    return fmt::format("from the state of step {}, on after step {}, where it diverged", own->step,
                       run.passes_over);
  }
  const std::string model = InitialModelName(run, cluster);
  const char* const what = run.submission->keeps_data_position ? "checkpoint" : "model";
  const std::string start =
      model.empty() ? "from scratch" : fmt::format("from the {} {}", what, model);
  if (run.quarantined.empty()) return start;
  const bool lost_all = std::all_of(run.quarantined.begin(), run.quarantined.end(),
                                    [](const auto& held) { return held.lost; });
  return start + (lost_all ? " again (its checkpoints are gone from the storage)"
                           : " again (its checkpoints are damaged or gone)");
}

}  // namespace gp::coordinator
