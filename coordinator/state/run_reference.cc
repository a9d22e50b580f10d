#include "coordinator/state/run_reference.h"

#include <algorithm>
#include <vector>

namespace gp::coordinator {
namespace {

using RunPointer = std::shared_ptr<const Run>;

bool IsNewer(const RunPointer& a, const RunPointer& b) {
  return b == nullptr || a->submitted_sequence > b->submitted_sequence;
}

struct Matches {
  RunPointer named;  // the newest of that name
  RunPointer last;   // the newest of all
  std::vector<std::string> prefixed;
};

Matches Search(const Cluster& cluster, const std::string& reference) {
  Matches matches;
  cluster.runs.ForEach([&](const RunId& id, const RunPointer& run) {
    if (IsNewer(run, matches.last)) matches.last = run;
    if (run->submission->name == reference && IsNewer(run, matches.named)) matches.named = run;
    if (!reference.empty() && id.value().starts_with(reference))
      matches.prefixed.push_back(id.value());
  });
  std::sort(matches.prefixed.begin(), matches.prefixed.end());
  return matches;
}

std::string FirstFew(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < 5; ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > 5 ? text + ", ..." : text;
}

}  // namespace

StatusOr<RunPointer> ResolveRun(const Cluster& cluster, const std::string& reference) {
  if (const RunPointer exact = cluster.FindRun(RunId(reference))) return exact;
  const Matches matches = Search(cluster, reference);
  if (reference == "@last") {
    if (matches.last != nullptr) return matches.last;
    return NotFound("there is no run yet; submit one with 'gpctl submit FILE'");
  }
  if (matches.named != nullptr) return matches.named;
  if (matches.prefixed.size() == 1) return cluster.FindRun(RunId(matches.prefixed.front()));
  if (matches.prefixed.empty()) {
    return NotFound("run '{}' does not exist; see 'gpctl list --all'", reference);
  }
  return FailedPrecondition("'{}' fits {} runs: {}; give more characters", reference,
                            matches.prefixed.size(), FirstFew(matches.prefixed));
}

}  // namespace gp::coordinator
