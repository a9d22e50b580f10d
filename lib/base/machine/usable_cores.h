// Which of the machine's processor cores the calling thread may use. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace gp {

// The numbers of the cores that the calling thread may run on (its affinity), ascending.
StatusOr<std::vector<int>> UsableCores();

// How many of `cores` cores may be busy at once: the tightest CPU limit of the process's control
// groups (`limits.cpu` of a pod), rounded down to whole cores, at most `cores`, at least 1. Reads
// below `root`; only tests change it.
int CoresWithinLimit(int cores, const std::string& root = "/");

// The number of usable cores within that limit, for the number of threads: at least 1, even if it
// cannot be determined.
int CountUsableCores();

}  // namespace gp
