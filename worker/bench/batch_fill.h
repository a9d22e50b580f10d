// Measures how long a run's data source takes to make a micro-batch. A loader thread could hide
// this time. One thread calls.
#pragma once

#include <cstdint>

namespace gp::engine {

// Milliseconds, the median of many; random windows over tokens in memory.
double MeasureBatchFill(int64_t sequences, int64_t length);

}  // namespace gp::engine
