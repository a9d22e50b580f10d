#include "coordinator/state/starting_point.h"

#include <algorithm>
#include <string_view>

namespace gp::coordinator {
namespace {

constexpr std::string_view kKey = "init_from: ";
constexpr std::string_view kScratch = "scratch";
constexpr std::string_view kCheckpoints = "/checkpoints/";

// The line of a top-level key in a resolved file (runspec::ResolvedYaml), which has each on a line
// of its own.
std::string_view LineOf(std::string_view resolved, std::string_view key) {
  size_t begin = 0;
  while (begin < resolved.size()) {
    const size_t end = std::min(resolved.find('\n', begin), resolved.size());
    const std::string_view line = resolved.substr(begin, end - begin);
    if (line.starts_with(key)) return line.substr(key.size());
    begin = end + 1;
  }
  return {};
}

// A YAML scalar as runspec::YamlScalar writes it. Control characters stay as they are written.
std::string TextOf(std::string_view scalar) {
  if (scalar.size() < 2 || scalar.front() != '"') return std::string(scalar);
  std::string text;
  for (size_t i = 1; i + 1 < scalar.size(); ++i) {
    const bool escapes = scalar[i] == '\\' && (scalar[i + 1] == '"' || scalar[i + 1] == '\\');
    text += scalar[escapes ? ++i : i];
  }
  return text;
}

// "base@250" when the path is a checkpoint of a run that is known; otherwise the path.
std::string NameOf(const std::string& path, const Cluster& cluster) {
  const size_t checkpoints = path.rfind(kCheckpoints);
  if (checkpoints == std::string::npos || checkpoints == 0) return path;
  const size_t id = path.rfind('/', checkpoints - 1) + 1;
  const auto parent = cluster.FindRun(RunId(path.substr(id, checkpoints - id)));
  if (parent == nullptr) return path;
  const auto& sealed = parent->checkpoints;
  const auto found = std::find_if(sealed.begin(), sealed.end(),
                                  [&](const auto& one) { return one.directory == path; });
  if (found == sealed.end()) return path;
  return fmt::format("{}@{}", parent->submission->name, found->step);
}

}  // namespace

std::string InitialModelOf(const Submission& submission) {
  std::string path = TextOf(LineOf(submission.resolved, kKey));
  return path == kScratch ? "" : path;
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
  return model.empty() ? "from scratch" : "from the model " + model;
}

}  // namespace gp::coordinator
