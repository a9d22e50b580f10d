// The processors that the calling thread may use, of all that the machine has. Thread-safe.
#pragma once

#include <vector>

#include "base/status.h"

namespace gp {

// Their numbers, in order.
StatusOr<std::vector<int>> UsableCores();

// The number of usable cores, for the number of threads: at least 1, also when the kernel does not
// tell.
int CountUsableCores();

}  // namespace gp
