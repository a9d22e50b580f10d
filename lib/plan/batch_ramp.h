// The batch size over the run. With a ramp, the first step sums plan.ramp_accumulation
// micro-batches per shard. Step plan.ramp_steps and all later steps sum plan.accumulation. The
// steps between them follow a straight line, rounded down (Brown et al. 2020, arXiv:2005.14165,
// section 2.3). The size depends only on the step, so a resumed run sees the same data. Standard
// library only. Pure functions; thread-safe.
#pragma once

#include <cstdint>

#include "plan/run_spec.h"
#include "plan/training_start.h"

namespace gp::runspec {

// The number of micro-batches that a shard adds up in step `step` (from 0).
int64_t AccumulationAt(const BatchPlan& plan, int64_t step);

// The sum of AccumulationAt over all steps before `step`.
int64_t MicroBatchesBefore(const BatchPlan& plan, int64_t step);

// Tokens of step `step`, and of all steps before it, over all shards. The steps before `start.step`
// saw start.tokens, with any plan. REQUIRES: step >= start.step.
int64_t TokensAt(const BatchPlan& plan, int64_t step);
int64_t TokensBefore(const BatchPlan& plan, int64_t step, const TrainingStart& start = {});

// StepsWithin: the most steps that fit into `tokens`. StepsUntil: the fewest steps that see at
// least `tokens`. Below start.tokens both assume that the steps before `start` had this plan, too:
// the result is then at most start.step.
int64_t StepsWithin(const BatchPlan& plan, int64_t tokens, const TrainingStart& start = {});
int64_t StepsUntil(const BatchPlan& plan, int64_t tokens, const TrainingStart& start = {});

// The schedule with its lengths in steps. A length in tokens becomes the first step after which
// training has seen that many tokens.
ScheduleSpec ScheduleInSteps(ScheduleSpec schedule, const BatchPlan& plan,
                             const TrainingStart& start = {});

}  // namespace gp::runspec
