#include "client/gateway/models/catalogue.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "base/text/nearest_word.h"

namespace gp::gateway {
namespace {

void SortNewestFirst(std::vector<ServedCheckpoint>& checkpoints) {
  std::stable_sort(checkpoints.begin(), checkpoints.end(),
                   [](const auto& a, const auto& b) { return a.step > b.step; });
}

const ServedCheckpoint* BestOf(const ServedRun& run) {
  const ServedCheckpoint* best = nullptr;
  for (const ServedCheckpoint& checkpoint : run.checkpoints) {
    if (checkpoint.best) return &checkpoint;
    if (!checkpoint.validation_loss) continue;
    if (best == nullptr || *checkpoint.validation_loss < *best->validation_loss) {
      best = &checkpoint;
    }
  }
  return best;
}

bool SameCheckpoints(const std::vector<ServedRun>& a, const std::vector<ServedRun>& b) {
  const auto same_checkpoint = [](const ServedCheckpoint& x, const ServedCheckpoint& y) {
    return x.step == y.step && x.directory == y.directory && x.best == y.best &&
           x.validation_loss == y.validation_loss;
  };
  const auto same_run = [&](const ServedRun& x, const ServedRun& y) {
    return x.id == y.id && x.name == y.name && x.submitted_at == y.submitted_at &&
           std::equal(x.checkpoints.begin(), x.checkpoints.end(), y.checkpoints.begin(),
                      y.checkpoints.end(), same_checkpoint);
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_run);
}

}  // namespace

std::string_view Name(NameKind kind) {
  switch (kind) {
    case NameKind::kAlias:
      return "alias";
    case NameKind::kBest:
      return "best";
    case NameKind::kStep:
      return "step";
    case NameKind::kDirectory:
      return "directory";
  }
  return "";
}

void Catalogue::UpdateRuns(std::vector<ServedRun> runs, bool complete) {
  for (ServedRun& run : runs) SortNewestFirst(run.checkpoints);
  const bool gives_names = complete && !has_all_runs_;
  if (!gives_names && SameCheckpoints(runs, runs_)) return;
  has_all_runs_ = has_all_runs_ || complete;
  runs_ = std::move(runs);
  Rebuild();
}

void Catalogue::UpdateDirectories(std::vector<ServedRun> directories) {
  for (ServedRun& directory : directories) SortNewestFirst(directory.checkpoints);
  if (SameCheckpoints(directories, directories_)) return;
  directories_ = std::move(directories);
  Rebuild();
}

void Catalogue::Rebuild() {
  ++version_;
  entries_.clear();
  std::set<std::string> taken;
  for (const ServedRun& run : directories_) {
    taken.insert(run.name);
    if (!run.checkpoints.empty()) entries_.push_back({run, run.name, /*directory=*/true});
  }
  std::vector<const ServedRun*> newest_first;
  for (const ServedRun& run : runs_) newest_first.push_back(&run);
  std::stable_sort(newest_first.begin(), newest_first.end(),
                   [](const auto* a, const auto* b) { return a->submitted_at > b->submitted_at; });
  for (const ServedRun* run : newest_first) {
    if (run->checkpoints.empty()) continue;
    const bool has_name = has_all_runs_ && !run->name.empty() && taken.insert(run->name).second;
    entries_.push_back({*run, has_name ? run->name : run->id});
  }
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.run.checkpoints.front().sealed_at > b.run.checkpoints.front().sealed_at;
  });
  if (on_change_) on_change_();
}

NamedModel Catalogue::Named(const Entry& entry, const ServedCheckpoint& checkpoint,
                            const std::string& suffix, NameKind kind) const {
  return {.id = entry.root + suffix,
          .resolved = fmt::format("{}@{}", entry.root, checkpoint.step),
          .root = entry.root,
          .kind = kind,
          .moves = kind != NameKind::kStep,
          .checkpoint = checkpoint};
}

const Catalogue::Entry* Catalogue::EntryOf(const std::string& root) const {
  for (const Entry& entry : entries_) {
    if (entry.root == root || entry.run.id == root) return &entry;
  }
  return nullptr;
}

StatusOr<NamedModel> Catalogue::Find(const std::string& id) const {
  if (entries_.empty()) {
    return NotFound("there is no model yet: no run has a sealed checkpoint");
  }
  if (id.empty()) return FindIn(entries_.front(), "", "");
  // Try the whole id first, because a run's name may contain '@'.
  if (const Entry* entry = EntryOf(id)) return FindIn(*entry, id, "");
  const size_t at = id.rfind('@');
  const Entry* entry = at == std::string::npos ? nullptr : EntryOf(id.substr(0, at));
  if (entry != nullptr) return FindIn(*entry, id, id.substr(at));
  std::vector<std::string> names;
  for (const Entry& known : entries_) names.push_back(known.root);
  const auto near = NearestWord(id.substr(0, at), names);
  return NotFound("there is no model '{}'; {}", id,
                  near ? "did you mean '" + *near + "'?" : "GET /v1/models lists them");
}

StatusOr<NamedModel> Catalogue::FindIn(const Entry& entry, const std::string& id,
                                       const std::string& suffix) const {
  const ServedRun& run = entry.run;
  const NameKind newest = entry.directory ? NameKind::kDirectory : NameKind::kAlias;
  if (suffix.empty() || suffix == "@latest") {
    return Named(entry, run.checkpoints.front(), suffix, newest);
  }
  if (suffix == "@best") {
    const ServedCheckpoint* best = BestOf(run);
    if (best == nullptr) return NotFound("{} has no checkpoint with a validation loss", entry.root);
    return Named(entry, *best, suffix, NameKind::kBest);
  }
  int64_t step = -1;
  const auto [end, error] = std::from_chars(suffix.data() + 1, suffix.data() + suffix.size(), step);
  if (error == std::errc() && end == suffix.data() + suffix.size()) {
    for (const ServedCheckpoint& checkpoint : run.checkpoints) {
      if (checkpoint.step == step) return Named(entry, checkpoint, suffix, NameKind::kStep);
    }
  }
  if (run.checkpoints.size() == 1) {
    return NotFound("there is no model '{}'; the only checkpoint of {} is {}@{}", id, entry.root,
                    entry.root, run.checkpoints.front().step);
  }
  return NotFound("there is no model '{}'; {} has checkpoints from step {} to {}", id, entry.root,
                  run.checkpoints.back().step, run.checkpoints.front().step);
}

RunModels Catalogue::ModelsOfRun(const std::string& run_id) const {
  RunModels models;
  for (const Entry& entry : entries_) {
    if (entry.directory || entry.run.id != run_id) continue;
    models.root = entry.root;
    for (const ServedCheckpoint& checkpoint : entry.run.checkpoints) {
      models.steps.push_back(checkpoint.step);
    }
    break;
  }
  return models;
}

std::vector<NamedModel> Catalogue::Aliases() const {
  std::vector<NamedModel> names;
  for (const Entry& entry : entries_) {
    const NameKind kind = entry.directory ? NameKind::kDirectory : NameKind::kAlias;
    names.push_back(Named(entry, entry.run.checkpoints.front(), "", kind));
  }
  return names;
}

std::vector<NamedModel> Catalogue::List() const {
  std::vector<NamedModel> names = Aliases();
  for (const Entry& entry : entries_) {
    if (const ServedCheckpoint* best = BestOf(entry.run)) {
      names.push_back(Named(entry, *best, "@best", NameKind::kBest));
    }
  }
  for (const Entry& entry : entries_) {
    for (const ServedCheckpoint& checkpoint : entry.run.checkpoints) {
      names.push_back(
          Named(entry, checkpoint, fmt::format("@{}", checkpoint.step), NameKind::kStep));
    }
  }
  return names;
}

}  // namespace gp::gateway
