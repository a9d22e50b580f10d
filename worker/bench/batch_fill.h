// Measures how long a run's data source takes to make a micro-batch. During training, BatchReader's
// thread overlaps this time with the step. One thread calls.
#pragma once

#include <cstdint>

namespace gp::engine {

// Returns the median of 50 fills in milliseconds. Reads random windows of tokens in memory.
double MeasureBatchFill(int64_t sequences, int64_t length);

}  // namespace gp::engine
