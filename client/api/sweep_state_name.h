// The names of the states of sweeps and trials on every screen, page and JSON document. Pure
// functions; thread-safe.
#pragma once

#include <string>

#include "gp/v1/sweep_service.pb.h"

namespace gp::client {

// "running", "cancelled", …
std::string StateName(v1::SweepState state);
std::string StateName(v1::TrialState state);
bool HasEnded(v1::SweepState state);

}  // namespace gp::client
