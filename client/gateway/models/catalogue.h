// Catalogue: the names of models and the checkpoint that each means. RUN and RUN@latest are the
// checkpoint of a run with the highest step, RUN@best the one with the lowest validation loss,
// RUN@STEP a given one; a run's id works in place of its name. A named directory has precedence
// over runs of the same name. Among runs of one name that have a checkpoint, the name means the one
// submitted last; the models of the others are named by run id. Used in the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/gateway/models/served_checkpoint.h"

namespace gp::gateway {

enum class NameKind { kAlias, kBest, kStep, kDirectory };
// "alias", "best", "step", "directory".
std::string_view Name(NameKind kind);

// One name and its current checkpoint.
struct NamedModel {
  std::string id;        // as requested: "demo", "demo@best"
  std::string resolved;  // "demo@2000"
  std::string root;      // "demo"
  NameKind kind = NameKind::kStep;
  bool moves = false;  // the name may mean a newer checkpoint later
  ServedCheckpoint checkpoint;
};

class Catalogue {
 public:
  // Replaces all runs known from the coordinator. Until an update was `complete`, runs have only
  // their ids as names: a missing run may be the newest of a name.
  void UpdateRuns(std::vector<ServedRun> runs, bool complete);
  // The result of scanning the named directories.
  void UpdateDirectories(std::vector<ServedRun> directories);
  // Called after each update that changed something.
  void OnChange(std::function<void()> call) { on_change_ = std::move(call); }

  // Grows with each change.
  uint64_t version() const { return version_; }

  // Empty `id`: the newest checkpoint of the run or directory whose newest checkpoint was sealed
  // last. NotFound suggests a name.
  StatusOr<NamedModel> Find(const std::string& id) const;
  // The models of the run with this id, even if its name means another run.
  RunModels ModelsOfRun(const std::string& run_id) const;
  bool empty() const { return entries_.empty(); }
  // Aliases first, then the best ones, then steps, the newest first.
  std::vector<NamedModel> List() const;
  // The aliases alone.
  std::vector<NamedModel> Aliases() const;

 private:
  struct Entry {
    ServedRun run;
    std::string root;  // the run's part of its models' names
    bool directory = false;
  };

  void Rebuild();
  NamedModel Named(const Entry& entry, const ServedCheckpoint& checkpoint,
                   const std::string& suffix, NameKind kind) const;
  StatusOr<NamedModel> FindIn(const Entry& entry, const std::string& id,
                              const std::string& suffix) const;
  const Entry* EntryOf(const std::string& root) const;

  std::vector<ServedRun> runs_;
  bool has_all_runs_ = false;  // an update was complete, so names may be used
  std::vector<ServedRun> directories_;
  std::vector<Entry> entries_;  // runs with a checkpoint, the newest checkpoint first
  uint64_t version_ = 0;
  std::function<void()> on_change_;
};

}  // namespace gp::gateway
