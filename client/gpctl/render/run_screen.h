// What stays on the terminal after the live screen of a run (screen/run_dashboard.h), and the run
// in one line. Pure functions; thread-safe. `now` is seconds since 1970.
#pragma once

#include <string>

#include "client/gpctl/render/run_model.h"
#include "client/gpctl/render/run_text.h"

namespace gp::gpctl {

// About ten lines. None is wider than the style's width (80 when that is 0), so that a terminal
// never wraps one. Events are left out, older ones first, so that there are fewer lines than the
// style's height and the terminal does not scroll; a terminal too low for the other lines scrolls.
std::string RunScreen(const RunModel& model, double now, const TextStyle& style);

// One line of at most the width: bar, step, loss, speed, ETA.
std::string ProgressLine(const RunModel& model, double now, const TextStyle& style);

}  // namespace gp::gpctl
