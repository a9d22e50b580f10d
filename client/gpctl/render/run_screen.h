// The live screen of one run. Pure functions; thread-safe. `now` is seconds since 1970.
#pragma once

#include <string>

#include "client/gpctl/render/run_model.h"
#include "client/gpctl/render/run_text.h"

namespace gp::gpctl {

// About ten lines. None is wider than the style's width (80 when that is 0), so that a terminal
// never wraps one, and there are fewer than its height, so that it does not scroll: older events
// are left out first.
std::string RunScreen(const RunModel& model, double now, const TextStyle& style);

// One line of at most the width: bar, step, loss, speed, ETA.
std::string ProgressLine(const RunModel& model, double now, const TextStyle& style);

}  // namespace gp::gpctl
