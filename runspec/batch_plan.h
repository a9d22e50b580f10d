// How a run's batch is cut into logical shards and micro-batches, and how many steps its budget
// holds. Pure functions; thread-safe.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "runspec/run_spec.h"

namespace gp::runspec {

// V: the smallest power of two that is at least the largest world size the run may have.
int LogicalShards(const ResourceSpec& resources);

// InvalidArgument when total_tokens is not a multiple of V * micro_batch * sequence: the message
// shows the product and the nearest sizes that fit.
StatusOr<BatchPlan> PlanBatch(const RunSpec& spec);

// The two nearest totals that fit, smaller first; equal when the total fits already. The smaller
// one is never 0.
struct FittingTotals {
  int64_t below = 0;
  int64_t above = 0;
};
FittingTotals NearestFittingTotals(const RunSpec& spec);

// The step at which the budget of steps and tokens ends; 0 when only the wall time bounds the run.
// REQUIRES: PlanBatch succeeds. Tokens that do not fill a step are left out, but one step is the
// least.
int64_t TargetSteps(const RunSpec& spec);

}  // namespace gp::runspec
