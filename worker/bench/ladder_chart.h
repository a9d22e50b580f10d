// The ladder as a chart: one SVG without other files, readable on a light and on a dark background.
// Pure function.
#pragma once

#include <string>
#include <vector>

#include "worker/bench/ladder_climb.h"

namespace gp::engine {

// `subtitle` describes the measurement and the machine.
std::string LadderChart(const std::vector<RungResult>& rungs, const std::string& subtitle);

}  // namespace gp::engine
