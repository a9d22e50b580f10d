// The sections of FleetDashboard as tables. Pure functions; thread-safe. `now` is seconds since
// 1970.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/render/fleet_model.h"
#include "client/gpctl/render/run_text.h"

namespace gp::gpctl {

// Whether the run waits for its first slots.
bool IsWaiting(const v1::Run& run);

// Each has a line of titles and one for each row.
std::string StartedRunsTable(const FleetModel& model, const TextStyle& style);
std::string WaitingRunsTable(const FleetModel& model, double now, const TextStyle& style);
std::string FleetNodesTable(const FleetModel& model, const TextStyle& style);

// "2 running   3 waiting   5/7 slots busy   2.5M tok/s", as far as it fits.
std::string FleetSums(const FleetModel& model, int width);

}  // namespace gp::gpctl
