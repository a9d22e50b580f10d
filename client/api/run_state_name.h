// The name of a run's state on every screen, page and JSON document: "running" for
// RUN_STATE_RUNNING. Pure functions; thread-safe.
#pragma once

#include <string>

#include "gp/v1/run.pb.h"

namespace gp::client {

// "unknown" for a state that this version does not know.
std::string StateName(v1::RunState state);
// RUN_STATE_UNSPECIFIED when no state has this name.
v1::RunState StateNamed(const std::string& name);

}  // namespace gp::client
