// An age such as "2d" as a time: the value of --since. Calls the coordinator, whose clock counts;
// used by gpctl's main thread.
#pragma once

#include <string>

#include "base/status.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

// The time, in seconds since 1970 by the coordinator's clock, that was `age` ago: "90m", "12h" or
// "7d". InvalidArgument for another text.
StatusOr<double> TimeAgo(const std::string& age, Session& session);

}  // namespace gp::gpctl
