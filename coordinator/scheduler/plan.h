// Plan: what the scheduler decided and why. Actions are events to be appended in order; waiting is
// one too. A value.
#pragma once

#include <string>
#include <vector>

#include "coordinator/state/event.h"

namespace gp::coordinator {

struct Action {
  RunId run;
  EventBody event;
  std::string actor;   // "scheduler", or the node whose report led here
  std::string reason;  // in a sentence
};

using Plan = std::vector<Action>;

}  // namespace gp::coordinator
