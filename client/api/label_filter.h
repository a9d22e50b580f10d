// Reads a filter by label, KEY=VALUE, as gpctl and the gateway's API take it. Pure functions;
// thread-safe.
#pragma once

#include <string_view>

#include "base/status.h"
#include "gp/v1/run_service.pb.h"

namespace gp::client {

// Adds `label` to the labels that listed runs must have. A key or a value may hold a '=': the
// coordinator compares the whole text. InvalidArgument when it is not KEY=VALUE, or when another
// value of the same key was added before, so that no run could match.
Status AddLabel(std::string_view label, v1::ListRequest& list);

}  // namespace gp::client
