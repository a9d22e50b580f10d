// The documents of /api/v1 about sweeps. Times are seconds since 1970; absent numbers are null.
// Pure functions; thread-safe.
#pragma once

#include <nlohmann/json.hpp>

#include "gp/v1/sweep_service.pb.h"

namespace gp::gateway {

nlohmann::ordered_json SweepsDocument(const v1::ListSweepsResponse& list);  // GET /api/v1/sweeps
// GET /api/v1/sweeps/NAME: its trials, and the candidates by rank (client/api/sweep_ranking.h).
nlohmann::ordered_json SweepDocument(const v1::Sweep& sweep);

}  // namespace gp::gateway
