// Plan: what the scheduler decided. An ordered list of events to apply. All are durable except
// RunWaiting. A value.
#pragma once

#include <string>
#include <vector>

#include "coordinator/state/event.h"

namespace gp::coordinator {

struct Action {
  RunId run;
  EventBody event;
  std::string actor;  // "scheduler"
};

using Plan = std::vector<Action>;

}  // namespace gp::coordinator
