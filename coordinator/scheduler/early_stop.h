// Which trials of a sweep stop early and which train on. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "coordinator/scheduler/trial_result.h"

namespace gp::coordinator {

// By trial, in the order of SweepSpec::trials.
using TrialResults = std::vector<TrialResult>;

// The median rule stops no trial before this many others have reached its step.
inline constexpr size_t kMedianOthersMin = 3;

// Why the median rule stops the trial now; empty while it does not.
std::string WhyStopped(const EarlyStop& early_stop, const TrialResults& results, size_t trial);

struct Promotion {
  size_t trial = 0;  // its index
  size_t rung = 0;   // up to which it trains on
};

// The trials that train on to their next rung: of those that were evaluated at a rung, the best 1
// of `eta`. The lowest rung comes first, and in a rung the lowest loss.
std::vector<Promotion> Promotions(const EarlyStop& early_stop, const TrialResults& results);

}  // namespace gp::coordinator
