// `gp-bench plan`: the arena of a model tensor by tensor, as the engine will allocate it. One
// thread calls.
#pragma once

#include <string>

#include "runspec/arena_plan.h"

namespace gp::engine {

// Prints to stdout.
void RunPlanCommand(const runspec::ModelShape& shape, const runspec::ArenaOptions& options,
                    bool json);

}  // namespace gp::engine
