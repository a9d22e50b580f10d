// Plan: what the scheduler decided and why. An ordered list of events to append. RunWaiting is one
// of these events, although it is not durable. A value.
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
