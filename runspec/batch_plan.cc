#include "runspec/batch_plan.h"

#include <algorithm>

#include "runspec/count.h"

namespace gp::runspec {
namespace {

// Tokens of one micro-batch on every shard.
int64_t Granule(const RunSpec& spec) {
  return LogicalShards(spec.resources) * spec.batch.micro_batch * spec.batch.sequence;
}

int64_t TotalTokens(const RunSpec& spec) {
  return spec.batch.total_tokens == 0 ? Granule(spec) : spec.batch.total_tokens;
}

std::string Nearest(const FittingTotals& totals) {
  if (totals.below == totals.above) return FormatCount(totals.above);
  return FormatCount(totals.below) + " or " + FormatCount(totals.above);
}

}  // namespace

int LogicalShards(const ResourceSpec& resources) {
  const int world_size_max = std::max({resources.workers, resources.max_workers, 1});
  int shards = 1;
  while (shards < world_size_max) shards *= 2;
  return shards;
}

FittingTotals NearestFittingTotals(const RunSpec& spec) {
  const int64_t granule = Granule(spec), total = TotalTokens(spec);
  const int64_t below = std::max(total / granule, int64_t{1}) * granule;
  const int64_t above = (total + granule - 1) / granule * granule;
  return {below, std::max(above, granule)};
}

StatusOr<BatchPlan> PlanBatch(const RunSpec& spec) {
  const int shards = LogicalShards(spec.resources);
  const int64_t total = TotalTokens(spec), granule = Granule(spec);
  if (total % granule != 0) {
    return InvalidArgument(
        "batch.total_tokens {} is not a multiple of {} logical shards x {} sequences x {} tokens = "
        "{}; "
        "nearest that fit: {}",
        FormatCount(total), shards, spec.batch.micro_batch, spec.batch.sequence,
        FormatCount(granule), Nearest(NearestFittingTotals(spec)));
  }
  return BatchPlan{
      .logical_shards = shards, .accumulation = total / granule, .tokens_per_step = total};
}

int64_t TargetSteps(const RunSpec& spec) {
  int64_t steps = spec.budget.steps;
  if (spec.budget.tokens > 0) {
    const int64_t from_tokens = std::max(spec.budget.tokens / TotalTokens(spec), int64_t{1});
    steps = steps == 0 ? from_tokens : std::min(steps, from_tokens);
  }
  return steps;
}

}  // namespace gp::runspec
