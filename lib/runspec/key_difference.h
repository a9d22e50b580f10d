// KeyDifference: a key of the run file that has different values in two runs. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "plan/run_spec.h"

namespace gp::runspec {

struct KeyDifference {
  std::string key;     // "optimizer.lr"
  std::string before;  // the value as in a run file
  std::string after;
};

// In the order of the schema. Leaves out name and preset, which do not change what is trained.
std::vector<KeyDifference> DifferingKeys(const RunSpec& before, const RunSpec& after);

}  // namespace gp::runspec
