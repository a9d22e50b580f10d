// TrainingPlan: every buffer of one training rank, with its name and exact size: the model's arena,
// the gradients of the reduction tree, the optimizer's state, a batch, a snapshot. `gp-bench plan`
// prints it and the forecast adds it up. The trainer allocates each part where it is used, with the
// same functions (worker/engine/optim, worker/engine/step); training_plan_test.cc checks that the
// totals agree. Standard library only. Pure functions; thread-safe.
#pragma once

#include <cstdint>

#include "plan/arena_plan.h"
#include "plan/model_shape.h"
#include "plan/run_spec.h"

namespace gp::runspec {

struct TrainingOptions {
  ArenaOptions arena;
  int first_shard = 0;  // the first logical shard that the rank owns
  int owned_shards = 1;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
  int moment_parts = 1;        // ranks that share the optimizer's moments (engine.zero1)
  int64_t snapshot_bytes = 0;  // memory for the copies of a checkpoint in flight
};

// The arena's tensors first, then "gradients.0"..., "first_moment", "second_moment", Muon's
// scratch, "step_scalars" and, where the arena is the host's memory, "step_scalars.read",
// "batch.tokens", "batch.targets" and, last and allocated only by the rank that saves, "snapshot"
// (at most as large as parameters and moments together).
ArenaPlan MakeTrainingPlan(const ModelShape& shape, const TrainingOptions& options);

// The total bytes of that plan.
int64_t TrainingBytes(const ModelShape& shape, const TrainingOptions& options);

// The number of gradient buffers that a rank needs at a time while it adds up its shards [first,
// first + count) along the fixed tree: one for each finished subtree, and one for the current
// shard.
int GradientBuffers(int first, int count);

// Losses of the rank's shards, the norm of the gradient, fp16's loss scale; a multiple of 64 bytes.
int64_t StepScalarBytes(int owned_shards);

// Elements of Muon's work memory for one thread: two matrices as large as a block's largest weight,
// and five squares of its shorter side.
int64_t MuonMatrixCount(const ModelShape& shape);
int64_t MuonSquareCount(const ModelShape& shape);
int64_t MuonLaneCount(const ModelShape& shape);

}  // namespace gp::runspec
