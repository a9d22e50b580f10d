// The panes of RunDashboard below its numbers and curves. Pure functions; thread-safe.
#pragma once

#include <vector>

#include "client/gpctl/render/run_model.h"
#include "client/gpctl/render/run_text.h"
#include "client/gpctl/terminal/screen_line.h"

namespace gp::gpctl {

// Each returns at most `rows` lines; those of `style` that are wider are cut by the caller.

// The parts of a step's time in their colours: a legend, and above it a bar if there are 2 rows.
std::vector<ScreenLine> PhasePane(const v1::Progress& progress, int rows, const TextStyle& style);

// A line for each node with its ranks, and one for what they use.
std::vector<ScreenLine> NodePane(const v1::Run& run, int rows, const TextStyle& style);
int NodePaneRows(const v1::Run& run);

// The newest sample; empty before the first.
std::vector<ScreenLine> SamplePane(const RunModel& model, int rows, const TextStyle& style);

// The newest events, the newest last.
std::vector<ScreenLine> EventPane(const RunModel& model, int rows, const TextStyle& style);

// The end of the log.
std::vector<ScreenLine> LogPane(const RunModel& model, int rows, const TextStyle& style);

}  // namespace gp::gpctl
