// Reads a filter by label, KEY=VALUE, as gpctl and the gateway's API take it. Pure functions;
// thread-safe.
#pragma once

#include <string_view>

#include "base/status.h"
#include "gp/v1/run_service.pb.h"

namespace gp::client {

// Adds `label` to what the list's runs must have. A key or a value may hold a '=': the coordinator
// compares the whole text. An error when it is not KEY=VALUE, or when no run can have this label
// and those that were added before.
Status AddLabel(std::string_view label, v1::ListRequest& list);

}  // namespace gp::client
