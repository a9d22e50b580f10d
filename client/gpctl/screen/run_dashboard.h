// RunDashboard: the full screen of `gpctl watch RUN`. Pure functions; thread-safe. `now` is seconds
// since 1970.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/render/run_model.h"
#include "client/gpctl/render/run_text.h"
#include "client/gpctl/screen/run_curves.h"
#include "client/gpctl/terminal/screen_line.h"

namespace gp::gpctl {

enum class DashboardPage { kMain, kLog, kHelp };

struct DashboardView {
  DashboardPage page = DashboardPage::kMain;
  CurveSpan span = CurveSpan::kSettled;
  // Shown instead of the keys: a question that the next key answers, or what a call has answered.
  std::string message;
};

// Exactly style.height lines, none wider than style.width. What is shown depends on the size:
// state, progress, loss and speed always; then the loss curve, events, gradient norm, phases,
// checkpoint, sample, nodes, and further curves, as long as there is room. REQUIRES: style.width >
// 0 and style.height > 0.
std::vector<ScreenLine> RunDashboard(const RunModel& model, const DashboardView& view, double now,
                                     const TextStyle& style);

}  // namespace gp::gpctl
