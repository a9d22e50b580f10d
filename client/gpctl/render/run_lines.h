// The lines that the screens of one run share. Each is at most `width` columns, except those that
// say otherwise; an empty line means that there is nothing to show. Pure functions; thread-safe.
// `now` is seconds since 1970.
#pragma once

#include <string>

#include "client/gpctl/render/run_model.h"
#include "client/gpctl/render/run_text.h"
#include "client/gpctl/terminal/screen_line.h"

namespace gp::gpctl {

// The width of the labels that lines begin with: "  train loss  ".
inline constexpr int kRunLabelWidth = 14;
inline constexpr int kRunBarMin = 12;  // columns of a progress bar

// Name, state, time, id, placement, attempt.
ScreenLine RunHeading(const v1::Run& run, double now, int width, bool utf8);

// "[████    ]  25.0%   step 500/2,000   384k tokens   ETA 1m16s"; the bar has at most `bar_max`
// columns.
std::string RunBarLine(const RunModel& model, double now, int width, int bar_max, bool utf8);

// The part of the run that is done, 0 to 1: by steps, or by time for a run that is bounded by time.
double RunFraction(const RunModel& model, double now);
// "ETA 1m16s"; empty for an ended run and while it is unknown.
std::string RunEta(const RunModel& model, double now);

// The reason for the run's state; empty while it is running. May be wider than any terminal, as the
// next ones.
std::string RunReasonLine(const v1::Run& run, bool utf8);
std::string RunWarningLine(const v1::Run& run, bool utf8);
std::string RunEventLine(const v1::RunEvent& event, bool utf8);
// The newest scores (bits per byte and eval.tasks); empty before the first.
std::string RunScoresLine(const RunModel& model, bool utf8);
std::string RunCheckpointLine(const v1::Run& run);

std::string RunSpeedLine(const v1::Progress& progress, int width);
std::string RunPhaseLine(const v1::Progress& progress, int width);

}  // namespace gp::gpctl
