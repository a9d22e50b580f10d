// Plan: what the scheduler decided and why. An ordered list of events to apply. All are durable
// except RunWaiting. A value.
#pragma once

#include <string>
#include <vector>

#include "coordinator/state/event.h"

namespace gp::coordinator {

struct Action {
  RunId run;
  EventBody event;
  std::string actor;   // "scheduler"
  std::string reason;  // one sentence; not stored: most events carry their own
};

using Plan = std::vector<Action>;

}  // namespace gp::coordinator
