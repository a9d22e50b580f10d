// Charts of a sweep: the validation loss against each key that it varies. Pure functions;
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/plot/chart.h"
#include "gp/v1/sweep_service.pb.h"

namespace gp::gpctl {

struct KeyChart {
  std::string key;
  // A dot for each trial, and a line through the means of each value if the key has few values. The
  // values of a key that is not a number are numbered in the title.
  Chart chart;
};

// One chart for each varied key except the seed, in the order of their names. Empty while no trial
// has a loss. Trials that were stopped early are drawn, too, with their lowest loss.
std::vector<KeyChart> ChartsOf(const v1::Sweep& sweep);

}  // namespace gp::gpctl
