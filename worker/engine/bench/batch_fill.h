// How long a run's data source takes to put a micro-batch together, which a loader thread could
// hide. One thread calls.
#pragma once

#include <cstdint>

namespace gp::engine {

// Milliseconds, the median of many; random windows over tokens in memory.
double MeasureBatchFill(int64_t sequences, int64_t length);

}  // namespace gp::engine
