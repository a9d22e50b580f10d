// What the gateway may serve: sealed checkpoints, as reported to the catalogue by the coordinator's
// reader and the directory scan. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gp::gateway {

struct ServedCheckpoint {
  int64_t step = 0;
  std::string directory;  // absolute
  // Distinguishes checkpoints of the same step; empty in a scanned directory.
  std::string manifest_digest;
  std::optional<double> validation_loss;
  int64_t sealed_at = 0;  // unix seconds; in a scanned directory: when the manifest was written
  bool best = false;      // the coordinator's best one of the run; false in a scanned directory

  bool operator==(const ServedCheckpoint&) const = default;
};

// A run, or a directory that was given a name. Its newest checkpoint is the one with the highest
// step.
struct ServedRun {
  std::string id;           // works in place of the name
  std::string name;         // means the newest run of that name
  double submitted_at = 0;  // unix seconds; 0 for a directory
  std::vector<ServedCheckpoint> checkpoints;

  bool operator==(const ServedRun&) const = default;
};

// The model names of one run: `root`, and `root`@STEP for each of `steps`.
struct RunModels {
  std::string root;  // empty: the run has no served checkpoint
  std::vector<int64_t> steps;

  bool operator==(const RunModels&) const = default;
};

}  // namespace gp::gateway
