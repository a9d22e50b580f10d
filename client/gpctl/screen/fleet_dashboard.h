// FleetDashboard: the full screen of `gpctl top`. Pure functions; thread-safe. `now` is seconds
// since 1970.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/render/fleet_model.h"
#include "client/gpctl/render/run_text.h"
#include "client/gpctl/terminal/screen_line.h"

namespace gp::gpctl {

// All sections, or one of them on the whole screen.
enum class FleetPage { kAll, kRuns, kQueue, kNodes, kHelp };

struct FleetView {
  FleetPage page = FleetPage::kAll;
  int first = 0;  // the first row that is shown of a page with one section
};

// Exactly style.height lines, none wider than style.width: the sum of the fleet, the runs that have
// started, those that wait for slots with their reasons, and the nodes. Where there is no room for
// all rows of a section, the last line says how many more there are.
// REQUIRES: style.width > 0 and style.height > 0.
std::vector<ScreenLine> FleetDashboard(const FleetModel& model, const FleetView& view, double now,
                                       const TextStyle& style);

// How a page with one section scrolls: to `last` at most, where the last row is at the bottom, and
// by `page` rows at a time. Other pages do not scroll.
struct FleetScroll {
  int last = 0;
  int page = 1;
};
FleetScroll ScrollOf(const FleetModel& model, FleetPage page, const TextStyle& style);

// The same sections as text with all rows, for output that is not a terminal.
std::string FleetText(const FleetModel& model, double now, const TextStyle& style);

}  // namespace gp::gpctl
