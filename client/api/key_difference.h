// The keys in which the resolved run files of several runs differ. Pure functions; thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "gp/v1/run.pb.h"

namespace gp::client {

struct KeyDifference {
  std::string key;  // "optimizer.lr"
  // By run, the value as in its run file: "0.001", "[wte, wpe]"; absent if the file lacks the key.
  std::vector<std::optional<std::string>> values;

  bool operator==(const KeyDifference&) const = default;
};

// Only keys whose values differ, in the order of the files, those of the first run first. Entries
// of maps are keys of their own: "labels.team". A run without a resolved file has no keys. The
// value of init_from is RUN@STEP where it is a checkpoint of a known run, otherwise its path.
// Internal for a file that is not YAML, with the run and the place.
StatusOr<std::vector<KeyDifference>> FindKeyDifferences(std::span<const v1::Run> runs);

}  // namespace gp::client
