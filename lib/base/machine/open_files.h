// The limit of open files and connections. Called by main's thread at the start.
#pragma once

#include "base/status.h"

namespace gp {

// Raises the soft limit to the hard limit: each connection takes a descriptor. ResourceExhausted
// when the hard limit is below 64: with so few, libraries abort while a daemon starts.
Status AllowManyOpenFiles();

}  // namespace gp
