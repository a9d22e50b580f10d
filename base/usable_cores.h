// The processors that the calling thread may use, of all that the machine has. Thread-safe.
#pragma once

#include <vector>

#include "base/status.h"

namespace gp {

// Their numbers, in order.
StatusOr<std::vector<int>> UsableCores();

// How many threads are worth starting: at least 1, also where the kernel does not tell.
int CountUsableCores();

}  // namespace gp
