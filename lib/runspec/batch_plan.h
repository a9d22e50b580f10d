// Divides a run's batch into logical shards and micro-batches, and computes the steps of its
// budget. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "plan/run_spec.h"
#include "plan/training_start.h"

namespace gp::runspec {

// V, the number of logical shards: the smallest power of two that is at least the largest world
// size the run may have.
int LogicalShards(const ResourceSpec& resources);

// The granule: the tokens of a batch must be a multiple of it. V * micro_batch * sequence, or V *
// sequence while micro_batch is auto. DescribeGranule returns the product as text: "4 logical
// shards x 8 sequences x 128 tokens".
int64_t BatchGranule(const RunSpec& spec);
std::string DescribeGranule(const RunSpec& spec);

// InvalidArgument when total_tokens or ramp_from_tokens is not a multiple of the granule: the
// message shows the product and the nearest sizes that fit. While micro_batch is auto, the plan is
// for micro-batches of one sequence, so its accumulation counts sequences.
StatusOr<BatchPlan> PlanBatch(const RunSpec& spec);

// The two nearest totals that fit, smaller first; equal when the total fits already. The smaller
// one is never 0.
struct FittingTotals {
  int64_t below = 0;
  int64_t above = 0;
};
FittingTotals NearestFittingTotals(const RunSpec& spec);

// The step at which the budget of steps and tokens ends; 0 if only the wall time limits the run.
// REQUIRES: PlanBatch succeeds. Tokens that do not fill a step are dropped, but there is at least
// one step. The budget counts what came before `start`, too.
int64_t TargetSteps(const RunSpec& spec, const TrainingStart& start = {});

// InvalidArgument when the files of `key` (data.train, data.val) hold fewer than 2 `tokens`: one to
// read and one to predict. A validation split of less than a batch is padded.
Status CheckHoldsATarget(const std::string& key, int64_t tokens);

// InvalidArgument when training files of `file_tokens` tokens hold not even one sequence (random
// order, shuffled order in one file), or one micro-batch for every logical shard (sequential).
Status CheckFilesHoldABatch(const std::vector<int64_t>& file_tokens, const RunSpec& spec,
                            const BatchPlan& plan);

// The same for each entry of a mixture (data.weights): `entry_files` says how many of the files, in
// order, belong to each. The message names the entry of data.train.
Status CheckEntriesHoldABatch(const std::vector<int64_t>& file_tokens,
                              const std::vector<int64_t>& entry_files, const RunSpec& spec,
                              const BatchPlan& plan);

// The number of strides in a file of `tokens` tokens, for the sequential order. A stride is one
// micro-batch on every logical shard.
int64_t StridesIn(int64_t tokens, const RunSpec& spec, const BatchPlan& plan);

// The number of windows in a file for the shuffled order. A window is one sequence.
int64_t WindowsIn(int64_t tokens, const RunSpec& spec);

}  // namespace gp::runspec
