// How many files and connections this process may have open. Called by main's thread at the start.
#pragma once

namespace gp::daemon {

// Raises the limit as far as the system lets this user: each connection takes a descriptor.
void AllowManyOpenFiles();

}  // namespace gp::daemon
