#include "coordinator/state/cluster.h"

#include "coordinator/state/initial_model.h"

namespace gp::coordinator {

namespace {

std::string NameKey(const std::string& run_namespace, const std::string& name) {
  return (run_namespace.empty() ? "default" : run_namespace) + "/" + name;
}

void NoteName(const Run& run, ShardedMap<std::string, std::set<RunId>>& names) {
  const std::string key = NameKey(run.submission->run_namespace, run.submission->name);
  const std::set<RunId>* known = names.Find(key);
  const bool noted = known != nullptr && known->contains(run.id);
  if (noted != IsTerminal(run.state)) return;
  std::set<RunId> ids = known == nullptr ? std::set<RunId>() : *known;
  if (noted) {
    ids.erase(run.id);
  } else {
    ids.insert(run.id);
  }
  names.Set(key, std::move(ids));
}

// Either run may be null: it does not exist.
void NoteModel(const Run* before, const Run* after, std::map<std::string, int>& awaited) {
  const auto model_of = [](const Run* run) { return run == nullptr ? "" : AwaitedModel(*run); };
  const std::string gone = model_of(before), needed = model_of(after);
  if (gone == needed) return;
  if (!needed.empty()) ++awaited[needed];
  if (const auto it = awaited.find(gone); it != awaited.end() && --it->second == 0) {
    awaited.erase(it);
  }
}

// Adds the run to its parent's children, or removes it.
void NoteParent(const Run& run, bool exists, ShardedMap<RunId, std::set<RunId>>& children) {
  const RunId parent(run.submission->parent_run);
  if (parent.empty()) return;
  const std::set<RunId>* known = children.Find(parent);
  std::set<RunId> ids = known == nullptr ? std::set<RunId>() : *known;
  if (exists) {
    ids.insert(run.id);
  } else {
    ids.erase(run.id);
  }
  children.Set(parent, std::move(ids));
}

}  // namespace

void Cluster::Set(Run run) {
  if (IsTerminal(run.state)) {
    live.erase(run.submitted_sequence);
    busy.erase(run.submitted_sequence);
  } else {
    live.emplace(run.submitted_sequence, run.id);
    if (!IsInQueue(run.state)) busy.emplace(run.submitted_sequence, run.id);
  }
  NoteName(run, live_names);
  const auto before = FindRun(run.id);
  tally.Replace(before.get(), run);
  counts.Replace(before.get(), run);
  NoteModel(before.get(), &run, awaited_models);
  if (before == nullptr) NoteParent(run, /*exists=*/true, children);
  const RunId id = run.id;
  runs.Set(id, std::make_shared<const Run>(std::move(run)));
}

void Cluster::Delete(const Run& run, DeletedRun deletion) {
  const RunId id = run.id;
  counts.Remove(run);
  NoteModel(&run, nullptr, awaited_models);
  NoteParent(run, /*exists=*/false, children);
  deleted.Set(id, std::make_shared<const DeletedRun>(std::move(deletion)));
  runs.Erase(id);
}

std::shared_ptr<const DeletedRun> Cluster::FindDeleted(const RunId& id) const {
  const auto* found = deleted.Find(id);
  return found == nullptr ? nullptr : *found;
}

std::shared_ptr<const Run> Cluster::FindRunOrKept(const RunId& id) const {
  auto run = FindRun(id);
  if (run != nullptr) return run;
  const auto gone = FindDeleted(id);
  return gone == nullptr ? nullptr : gone->kept_run;
}

std::set<RunId> Cluster::ChildrenOf(const RunId& id) const {
  const std::set<RunId>* found = children.Find(id);
  return found == nullptr ? std::set<RunId>() : *found;
}

std::shared_ptr<const Run> Cluster::FindRun(const RunId& id) const {
  const auto* found = runs.Find(id);
  return found == nullptr ? nullptr : *found;
}

const std::set<RunId>* Cluster::LiveRunsNamed(const std::string& run_namespace,
                                              const std::string& name) const {
  const std::set<RunId>* found = live_names.Find(NameKey(run_namespace, name));
  return found == nullptr || found->empty() ? nullptr : found;
}

std::shared_ptr<const Node> Cluster::FindNode(const NodeId& id) const {
  const auto it = nodes.find(id);
  return it == nodes.end() ? nullptr : it->second;
}

std::shared_ptr<const Sweep> Cluster::FindSweep(const SweepId& id) const {
  const auto* found = sweeps.Find(id);
  return found == nullptr ? nullptr : *found;
}

std::string Cluster::NodeName(const NodeId& id) const {
  const auto node = FindNode(id);
  return node == nullptr || node->name.empty() ? id.value() : node->name;
}

const RankReport* FindReport(const Node& node, const Run& run, const Placement& place) {
  if (place.incarnation.empty()) return node.FindRank(run.id, run.epoch, place.rank);
  for (const RankReport& report : node.ranks) {
    if (report.run == run.id && report.incarnation == place.incarnation) return &report;
  }
  return nullptr;
}

const RankReport* FindReport(const Cluster& cluster, const Run& run, const Placement& place) {
  const auto node = cluster.nodes.find(place.node);
  return node == cluster.nodes.end() ? nullptr : FindReport(*node->second, run, place);
}

}  // namespace gp::coordinator
