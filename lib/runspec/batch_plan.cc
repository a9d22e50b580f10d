#include "runspec/batch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text/thousands.h"
#include "plan/batch_ramp.h"

namespace gp::runspec {
namespace {

int64_t TotalTokens(const RunSpec& spec) {
  return spec.batch.total_tokens == 0 ? BatchGranule(spec) : spec.batch.total_tokens;
}

std::string Nearest(const FittingTotals& totals) {
  if (totals.below == totals.above) return WithThousands(totals.above);
  return WithThousands(totals.below) + " or " + WithThousands(totals.above);
}

}  // namespace

std::string DescribeGranule(const RunSpec& spec) {
  const int shards = LogicalShards(spec.resources);
  const char* plural = shards == 1 ? "" : "s";
  if (spec.batch.micro_batch_auto) {
    return fmt::format("{} logical shard{} x {} tokens", shards, plural, spec.batch.sequence);
  }
  return fmt::format("{} logical shard{} x {} sequences x {} tokens", shards, plural,
                     spec.batch.micro_batch, spec.batch.sequence);
}

int64_t BatchGranule(const RunSpec& spec) {
  const int64_t rows = spec.batch.micro_batch_auto ? 1 : spec.batch.micro_batch;
  return LogicalShards(spec.resources) * rows * spec.batch.sequence;
}

int LogicalShards(const ResourceSpec& resources) {
  const int world_size_max = std::max({resources.workers, resources.max_workers, 1});
  int shards = 1;
  while (shards < world_size_max) shards *= 2;
  return shards;
}

FittingTotals NearestFittingTotals(const RunSpec& spec) {
  const int64_t granule = BatchGranule(spec), total = TotalTokens(spec);
  const int64_t below = std::max(total / granule, int64_t{1}) * granule;
  const int64_t above = (total + granule - 1) / granule * granule;
  return {below, std::max(above, granule)};
}

StatusOr<BatchPlan> PlanBatch(const RunSpec& spec) {
  const int shards = LogicalShards(spec.resources);
  const int64_t total = TotalTokens(spec), granule = BatchGranule(spec);
  if (total % granule != 0) {
    return InvalidArgument(
        "batch.total_tokens {} is not a multiple of {} = {}; nearest that fit: {}",
        WithThousands(total), DescribeGranule(spec), WithThousands(granule),
        Nearest(NearestFittingTotals(spec)));
  }
  const int64_t first = spec.batch.ramp_from_tokens;
  if (first % granule != 0) {
    return InvalidArgument("batch.ramp_from_tokens {} is not a multiple of {} = {}",
                           WithThousands(first), DescribeGranule(spec), WithThousands(granule));
  }
  return BatchPlan{.logical_shards = shards,
                   .accumulation = total / granule,
                   .tokens_per_step = total,
                   .ramp_accumulation = first / granule,
                   .ramp_steps = first == 0 ? 0 : spec.batch.ramp_steps};
}

int64_t TargetSteps(const RunSpec& spec, const TrainingStart& start) {
  const int64_t steps = spec.budget.steps;
  if (spec.budget.tokens == 0) return steps;
  const int64_t filled = StepsWithin(PlanBatch(spec).value(), spec.budget.tokens, start);
  const int64_t from_tokens = std::max(filled, int64_t{1});
  return steps == 0 ? from_tokens : std::min(steps, from_tokens);
}

int64_t StridesIn(int64_t tokens, const RunSpec& spec, const BatchPlan& plan) {
  const int64_t stride = plan.logical_shards * spec.batch.micro_batch * spec.batch.sequence;
  // The last target is one token after the last input.
  return std::max<int64_t>(tokens - 1, 0) / stride;
}

int64_t WindowsIn(int64_t tokens, const RunSpec& spec) {
  return std::max<int64_t>(tokens - 1, 0) / spec.batch.sequence;
}

Status CheckHoldsATarget(const std::string& key, int64_t tokens) {
  if (tokens >= 2) return OkStatus();
  return InvalidArgument(
      "{}: the files hold {} token{}, expected at least 2: one to read and one to predict; name "
      "more data",
      key, tokens, tokens == 1 ? "" : "s");
}

Status CheckFilesHoldABatch(const std::vector<int64_t>& file_tokens, const RunSpec& spec,
                            const BatchPlan& plan) {
  const int64_t total = std::accumulate(file_tokens.begin(), file_tokens.end(), int64_t{0});
  if (total <= spec.batch.sequence) {
    return InvalidArgument(
        "the training split has {} tokens; one sequence needs batch.sequence + 1 = {}: give more "
        "data or lower batch.sequence",
        total, spec.batch.sequence + 1);
  }
  if (spec.data.order == BatchOrder::kRandom) return OkStatus();
  const bool shuffled = spec.data.order == BatchOrder::kShuffled;
  const bool fits = std::any_of(file_tokens.begin(), file_tokens.end(), [&](int64_t tokens) {
    return (shuffled ? WindowsIn(tokens, spec) : StridesIn(tokens, spec, plan)) > 0;
  });
  if (fits) return OkStatus();
  if (shuffled) {
    return InvalidArgument(
        "no training file holds the {} tokens of one sequence, plus 1: give larger files, lower "
        "batch.sequence, or use data.order: random",
        spec.batch.sequence);
  }
  return InvalidArgument(
      "no training file holds the {} tokens of one micro-batch on {} logical shards, plus 1: give "
      "larger files, lower batch.micro_batch, or use data.order: random",
      plan.logical_shards * spec.batch.micro_batch * spec.batch.sequence, plan.logical_shards);
}

Status CheckEntriesHoldABatch(const std::vector<int64_t>& file_tokens,
                              const std::vector<int64_t>& entry_files, const RunSpec& spec,
                              const BatchPlan& plan) {
  auto file = file_tokens.begin();
  for (size_t entry = 0; entry < entry_files.size(); ++entry) {
    const auto end = file + entry_files[entry];
    const Status status = CheckFilesHoldABatch({file, end}, spec, plan);
    if (!status.ok() && !spec.data.weights.empty()) {
      return WithContext(status, "data.train " + spec.data.train[entry]);
    }
    RETURN_IF_ERROR(status);
    file = end;
  }
  return OkStatus();
}

}  // namespace gp::runspec
