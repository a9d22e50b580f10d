// The limit of open files and connections. Called by main's thread at the start.
#pragma once

#include "base/status.h"

namespace gp {

// Raises the limit as far as the system lets this user: each connection takes a descriptor.
// ResourceExhausted when that is too few for a program to start, which libraries answer by
// aborting.
Status AllowManyOpenFiles();

}  // namespace gp
