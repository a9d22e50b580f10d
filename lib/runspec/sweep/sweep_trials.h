// The trials of a sweep file: every combination of the grid with every random draw, each with every
// seed. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runspec/sweep/sweep_file.h"

namespace gp::runspec {

// The varied keys with their values, in the order of the file; "seed" is the last one.
using TrialSettings = std::vector<std::pair<std::string, std::string>>;

// The number of trials; the highest uint64_t for more.
uint64_t CountTrials(const SweepFile& file);

// "3 x 2 x 2": values of each key of the grid, random trials, seeds.
std::string TrialFactors(const SweepFile& file);

// The trials in order; the seeds of a combination follow each other. The draws depend on the file
// alone. REQUIRES: at most kSweepTrialsMax trials.
std::vector<TrialSettings> ExpandTrials(const SweepFile& file);

}  // namespace gp::runspec
