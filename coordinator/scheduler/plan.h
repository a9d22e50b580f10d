// Plan: the scheduler's decisions and their reasons. Actions are events to append, in order;
// RunWaiting is one of them. A value.
#pragma once

#include <string>
#include <vector>

#include "coordinator/state/event.h"

namespace gp::coordinator {

struct Action {
  RunId run;
  EventBody event;
  std::string actor;   // "scheduler", or the node whose report caused it
  std::string reason;  // one sentence
};

using Plan = std::vector<Action>;

}  // namespace gp::coordinator
