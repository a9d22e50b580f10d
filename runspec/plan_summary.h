// What a run will be, in a few lines for people, before it is submitted: sizes, batch, schedule,
// memory, checkpoints. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "runspec/run_spec.h"

namespace gp::runspec {

struct MemoryForecast {
  int64_t rank_bytes = 0;        // what the rank that owns the most shards holds while it trains
  int64_t checkpoint_bytes = 0;  // weights and both moments
};

// From the same plan that the engine allocates. A vocabulary that the data decides counts as the
// tokenizer's usual one.
MemoryForecast ForecastMemory(const RunSpec& spec);

// Lines of "  label      text"; ends with a newline.
std::string PlanSummary(const RunSpec& spec);

// "812 B", "9.7 MB", "1.5 GB": powers of 1000, as disks are sold.
std::string FormatBytes(int64_t bytes);

}  // namespace gp::runspec
