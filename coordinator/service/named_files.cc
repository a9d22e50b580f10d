#include "coordinator/service/named_files.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "base/name_pattern.h"

namespace gp::coordinator {
namespace {

// The run's id in `path`, which is below `runs`.
RunId RunOf(const std::string& path, const std::string& runs) {
  const size_t begin = runs.size() + 1;
  return RunId(path.substr(begin, path.find('/', begin) - begin));
}

bool IsBeneath(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

// Whether `path` is a checkpoint of the catalogue that `submission` may start from, or a path in
// such a checkpoint.
bool IsCheckpointFor(const Submission& submission, const Cluster& cluster, const std::string& path,
                     const std::string& runs) {
  if (path == runs) return false;
  const auto run = cluster.FindRun(RunOf(path, runs));
  if (run == nullptr || run->submission->run_namespace != submission.run_namespace) return false;
  const auto holds = [&](const SealedCheckpoint& checkpoint) {
    return !checkpoint.retired && IsBeneath(path, checkpoint.directory);
  };
  return std::any_of(run->checkpoints.begin(), run->checkpoints.end(), holds) ||
         std::any_of(run->superseded.begin(), run->superseded.end(), holds);
}

bool Lets(const Node& node, const std::string& path, bool of_owner) {
  if (!node.data_roots) return true;
  if (node.data_roots->empty()) return of_owner;
  return std::any_of(node.data_roots->begin(), node.data_roots->end(),
                     [&](const std::string& root) {
                       std::string directory = AbsolutePath(root, "/");
                       if (directory.ends_with('/')) directory.pop_back();
                       return IsBeneath(path, directory);
                     });
}

// If every connected node refuses the path: all of them with their data roots, such as "node a
// (/data), node b (none)". Otherwise empty.
std::string RefusingNodes(const std::string& path, bool of_owner, const Cluster& cluster) {
  std::string names;
  for (const auto& [id, node] : cluster.nodes) {
    if (!node->connected) continue;
    if (Lets(*node, path, of_owner)) return "";
    const std::string roots =
        node->data_roots->empty() ? "none" : fmt::format("{}", fmt::join(*node->data_roots, ", "));
    names += fmt::format("{}node {} ({})", names.empty() ? "" : ", ", node->name, roots);
  }
  return names;
}

// Whether nothing is at the path. False when the storage fails, which says nothing.
bool IsAbsent(const std::string& path) {
  return access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

bool CanRead(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

}  // namespace

Status CheckNamedFiles(const std::vector<runspec::NamedFile>& files, const Submission& submission,
                       const Cluster& cluster, const std::string& storage_root) {
  const std::string runs = JoinPath(storage_root, "runs");
  for (const auto& [key, path] : files) {
    if (!path.starts_with('/')) {
      return InvalidArgument(
          "{}: '{}' is a relative path, and only a client on the coordinator's Unix socket has a "
          "directory that it could be relative to; give the absolute path that the workers see",
          key, path);
    }
    const std::string folded = AbsolutePath(path, "/");
    if (submission.of_owner || !IsBeneath(folded, runs)) continue;
    if (IsCheckpointFor(submission, cluster, folded, runs)) continue;
    return InvalidArgument(
        "{}: {} belongs to a run but is not a checkpoint in the catalogue of namespace '{}'; begin "
        "with a run by its name, like init_from: RUN@best ('gpctl ckpt RUN' lists them)",
        key, path, submission.run_namespace);
  }
  return OkStatus();
}

std::string DataRootsWarning(const std::vector<runspec::NamedFile>& files,
                             const Submission& submission, const Cluster& cluster,
                             const std::string& storage_root) {
  const std::string runs = JoinPath(storage_root, "runs");
  for (const auto& [key, path] : files) {
    const std::string folded = AbsolutePath(path, "/");
    if (folded != runs && IsBeneath(folded, runs)) continue;
    const std::string refusals = RefusingNodes(folded, submission.of_owner, cluster);
    if (refusals.empty()) continue;
    return fmt::format(
        "{}: {} is not below any data root of {}, so the run will fail there; the operator of the "
        "node can open a directory for runs with 'gpctl up --data-root DIR', or with data.roots of "
        "gp-worker",
        key, path, refusals);
  }
  return "";
}

Status CheckUnknownRuns(const std::vector<runspec::NamedFile>& files, const Cluster& cluster,
                        const std::string& storage_root) {
  const std::string runs = JoinPath(storage_root, "runs");
  for (const auto& [key, path] : files) {
    const std::string folded = AbsolutePath(path, "/");
    if (folded == runs || !IsBeneath(folded, runs)) continue;
    const RunId run = RunOf(folded, runs);
    const bool is_known = cluster.FindRun(run) != nullptr || cluster.FindDeleted(run) != nullptr;
    if (is_known || !ReadNamePattern(folded).pattern.empty() || !IsAbsent(folded)) continue;
    return InvalidArgument(
        "{}: {} does not exist in the service's own storage, and the service knows no run '{}'; "
        "begin with a run by its name, like init_from: RUN@best ('gpctl list' shows the runs)",
        key, path, run);
  }
  return OkStatus();
}

bool SeesFiles(const std::vector<runspec::NamedFile>& files) {
  return std::all_of(files.begin(), files.end(), [](const runspec::NamedFile& file) {
    const NamePattern name = ReadNamePattern(file.path);
    if (name.pattern.empty()) return CanRead(file.path);
    const auto matched = MatchingPaths(name);
    return matched.ok() && !matched->empty() &&
           std::all_of(matched->begin(), matched->end(), CanRead);
  });
}

}  // namespace gp::coordinator
