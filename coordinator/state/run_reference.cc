#include "coordinator/state/run_reference.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

namespace gp::coordinator {
namespace {

using RunPointer = std::shared_ptr<const Run>;

// Shorter ones are often names of runs that no longer exist.
constexpr size_t kIdPrefixMin = 4;

bool IsNewer(const RunPointer& a, const RunPointer& b) {
  return b == nullptr || a->submitted_sequence > b->submitted_sequence;
}

struct Named {
  RunPointer newest;              // an unfinished run if there is one, otherwise the newest
  std::vector<std::string> live;  // ids of the runs that have not ended
};

struct Matches {
  std::map<std::string, Named> named;  // runs whose name is the reference, by namespace
  RunPointer last;                     // the newest of all runs
  std::vector<RunPointer> prefixed;    // runs whose id starts with the reference
};

void Add(const RunPointer& run, Named& named) {
  const bool lives = !IsTerminal(run->state);
  const bool first_live = lives && named.live.empty();
  if (lives) named.live.push_back(run->id.value());
  if (first_live || (lives == !named.live.empty() && IsNewer(run, named.newest))) {
    named.newest = run;
  }
}

Matches Search(const Cluster& cluster, const std::string& reference, const RunFilter& wanted) {
  Matches matches;
  cluster.runs.ForEach([&](const RunId& id, const RunPointer& run) {
    if (!wanted(*run)) return;
    if (IsNewer(run, matches.last)) matches.last = run;
    if (run->submission->name == reference) Add(run, matches.named[NamespaceOf(*run)]);
    if (!reference.empty() && id.value().starts_with(reference)) matches.prefixed.push_back(run);
  });
  std::ranges::sort(matches.prefixed, {}, [](const RunPointer& run) { return run->id; });
  return matches;
}

std::string FirstFew(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < 5; ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > 5 ? text + ", ..." : text;
}

StatusOr<RunPointer> TheOneOf(const std::string& name, Named named) {
  if (named.live.size() < 2) return named.newest;
  std::sort(named.live.begin(), named.live.end());
  return FailedPrecondition("{} runs called '{}' have not ended; name one by its id: {}",
                            named.live.size(), name, FirstFew(named.live));
}

// The error when several namespaces have the name. It lists "research/tiny is 7f3k, other/tiny is
// 9a0c or 9b1d".
Status NamedInSeveral(const std::string& name, const Matches& matches) {
  std::vector<std::string> candidates;
  for (const auto& [of_run, named] : matches.named) {
    std::vector<std::string> ids = named.live;
    if (ids.empty()) ids.push_back(named.newest->id.value());
    std::sort(ids.begin(), ids.end());
    candidates.push_back(fmt::format("{}/{} is {}", of_run, name, fmt::join(ids, " or ")));
  }
  return FailedPrecondition(
      "several namespaces have a run '{}'; name one with its namespace or by "
      "its id: {}",
      name, FirstFew(candidates));
}

// The error when several ids have the prefix. It lists the ids, each with its namespace if these
// differ.
Status BeginsSeveral(const std::string& prefix, const std::vector<RunPointer>& runs) {
  const bool several = std::ranges::any_of(
      runs, [&](const RunPointer& run) { return NamespaceOf(*run) != NamespaceOf(*runs.front()); });
  std::vector<std::string> ids;
  for (const RunPointer& run : runs) {
    ids.push_back(several ? NamespaceOf(*run) + "/" + run->id.value() : run->id.value());
  }
  return FailedPrecondition("'{}' matches {} runs: {}; give more characters", prefix, ids.size(),
                            FirstFew(ids));
}

StatusOr<RunPointer> ResolveAmong(const Cluster& cluster, const std::string& reference,
                                  const RunFilter& wanted) {
  if (const RunPointer exact = cluster.FindRun(RunId(reference)); exact && wanted(*exact)) {
    return exact;
  }
  const Matches matches = Search(cluster, reference, wanted);
  if (reference == "@last") {
    if (matches.last != nullptr) return matches.last;
    return NotFound("there is no run yet; submit one with 'gpctl submit FILE'");
  }
  if (matches.named.size() > 1) return NamedInSeveral(reference, matches);
  if (!matches.named.empty()) return TheOneOf(reference, matches.named.begin()->second);
  if (!matches.prefixed.empty() && reference.size() < kIdPrefixMin) {
    return NotFound("run '{}' does not exist; the beginning of an id needs at least {} characters",
                    reference, kIdPrefixMin);
  }
  if (matches.prefixed.size() == 1) return matches.prefixed.front();
  if (matches.prefixed.size() > 1) return BeginsSeveral(reference, matches.prefixed);
  return NotFound("run '{}' does not exist; see 'gpctl list --all'", reference);
}

std::shared_ptr<const DeletedRun> FindDeletedAmong(
    const Cluster& cluster, const std::string& reference,
    const std::function<bool(const DeletedRun&)>& wanted) {
  const auto exact = cluster.FindDeleted(RunId(reference));
  if (exact != nullptr && wanted(*exact)) return exact;
  if (reference.empty()) return nullptr;
  std::shared_ptr<const DeletedRun> named;
  std::vector<std::shared_ptr<const DeletedRun>> prefixed;
  cluster.deleted.ForEach([&](const RunId& id, const std::shared_ptr<const DeletedRun>& run) {
    const bool is_named = run->name == reference;
    const bool is_prefixed = reference.size() >= kIdPrefixMin && id.value().starts_with(reference);
    if (!(is_named || is_prefixed) || !wanted(*run)) return;
    if (is_prefixed) prefixed.push_back(run);
    const bool newer = named == nullptr || std::pair(named->deleted_at, named->id) <
                                               std::pair(run->deleted_at, run->id);
    if (is_named && newer) named = run;
  });
  if (named != nullptr) return named;
  return prefixed.size() == 1 ? prefixed.front() : nullptr;
}

}  // namespace

const std::string& NamespaceOf(const Run& run) {
  static const std::string kDefault = "default";
  const std::string& named = run.submission->run_namespace;
  return named.empty() ? kDefault : named;
}

StatusOr<RunPointer> ResolveRun(const Cluster& cluster, const std::string& reference,
                                const RunFilter& sees) {
  const size_t slash = reference.find('/');
  if (slash == std::string::npos) return ResolveAmong(cluster, reference, sees);
  const std::string name = reference.substr(0, slash);
  return ResolveAmong(cluster, reference.substr(slash + 1),
                      [&](const Run& run) { return NamespaceOf(run) == name && sees(run); });
}

std::shared_ptr<const DeletedRun> FindDeletedRun(
    const Cluster& cluster, const std::string& reference,
    const std::function<bool(const std::string& run_namespace)>& sees) {
  const size_t slash = reference.find('/');
  if (slash == std::string::npos) {
    return FindDeletedAmong(cluster, reference,
                            [&](const DeletedRun& run) { return sees(run.run_namespace); });
  }
  const std::string name = reference.substr(0, slash);
  return FindDeletedAmong(cluster, reference.substr(slash + 1), [&](const DeletedRun& run) {
    return run.run_namespace == name && sees(name);
  });
}

}  // namespace gp::coordinator
