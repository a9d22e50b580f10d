// What a fork keeps, changes and trains, as text before it starts. Pure; thread-safe.
#pragma once

#include <string>

#include "client/gpctl/commands/legs/fork_run_file.h"
#include "client/gpctl/session/fork_source.h"

namespace gp::gpctl {

// Several lines, each with its line break. The first says what is kept; the others what changes,
// how far it trains, and the learning rate of the parent and of the fork.
std::string ForkText(const ForkSource& source, const ForkRunFile& fork);

}  // namespace gp::gpctl
