#include "runspec/plan_summary.h"

#include <fmt/format.h>

#include <array>

#include "base/duration.h"
#include "runspec/arena_plan.h"
#include "runspec/batch_plan.h"
#include "runspec/count.h"
#include "runspec/schema.h"

namespace gp::runspec {
namespace {

std::string ModelLine(const RunSpec& spec) {
  const ModelShape& model = spec.model;
  const std::string vocabulary =
      spec.vocabulary_auto ? spec.data.tokenizer : FormatCount(model.vocabulary) + " ids";
  return fmt::format(
      "{} layers, {} heads, {} wide, context {}, {}; {} parameters{}", model.layers, model.heads,
      model.channels, model.context, vocabulary, FormatCount(ParameterCount(model)),
      spec.vocabulary_auto && spec.data.tokenizer == "chars" ? " with 256 characters" : "");
}

std::string BatchLine(const RunSpec& spec, const BatchPlan& plan) {
  return fmt::format(
      "{} tokens a step = {} logical shards x {} micro-batches x {} sequences x {} tokens, on {} "
      "{}",
      FormatCount(plan.tokens_per_step), plan.logical_shards, plan.accumulation,
      spec.batch.micro_batch, spec.batch.sequence, spec.resources.workers,
      spec.resources.workers == 1 ? "rank" : "ranks");
}

std::string LengthOf(const RunSpec& spec, const BatchPlan& plan) {
  const int64_t steps = TargetSteps(spec);
  std::string length;
  if (steps > 0) {
    length = fmt::format("{} steps = {} tokens", FormatCount(steps),
                         FormatCount(steps * plan.tokens_per_step));
  }
  if (spec.budget.wall_time.count() == 0) return length;
  const std::string limit = FormatDuration(spec.budget.wall_time);
  return length.empty() ? limit : length + ", at most " + limit;
}

std::string ScheduleLine(const RunSpec& spec, const BatchPlan& plan) {
  const double lr = spec.optimizer.lr;
  const std::string kind = FormatValue(*FindField("schedule.kind"), spec);
  return fmt::format("{}; warm-up {} steps, lr {:g} -> {:g} {}", LengthOf(spec, plan),
                     FormatCount(spec.schedule.warmup_steps), lr, lr * spec.schedule.min_lr_ratio,
                     kind);
}

std::string CheckpointLine(const RunSpec& spec, const MemoryForecast& forecast) {
  const int64_t every = spec.checkpoint.every_steps;
  const std::string when =
      every == 0 ? "at the end" : fmt::format("every {} steps", FormatCount(every));
  return fmt::format("{} each, {}; the last {}{} kept", FormatBytes(forecast.checkpoint_bytes),
                     when, spec.checkpoint.keep_last,
                     spec.checkpoint.keep_best ? " and the best" : "");
}

}  // namespace

MemoryForecast ForecastMemory(const RunSpec& spec) {
  const int shards = LogicalShards(spec.resources), ranks = spec.resources.workers;
  const ArenaOptions options{.micro_batch = spec.batch.micro_batch,
                             .sequence = spec.batch.sequence,
                             .bf16 = spec.precision == Precision::kBf16,
                             .threads = spec.resources.threads > 0 ? spec.resources.threads : 1};
  const int64_t parameters = MakeParameterLayout(spec.model).total_count;
  return {.rank_bytes = TrainingBytes(spec.model, options, (shards + ranks - 1) / ranks),
          .checkpoint_bytes = parameters * 3 * static_cast<int64_t>(sizeof(float))};
}

std::string PlanSummary(const RunSpec& spec) {
  const auto plan = PlanBatch(spec);
  if (!plan.ok()) return fmt::format("  {:<13}{}\n", "batch", Message(plan.status()));
  const MemoryForecast forecast = ForecastMemory(spec);
  const std::array<std::pair<const char*, std::string>, 5> lines = {{
      {"model", ModelLine(spec)},
      {"batch", BatchLine(spec, *plan)},
      {"schedule", ScheduleLine(spec, *plan)},
      {"memory", fmt::format("{} a rank, {}", FormatBytes(forecast.rank_bytes),
                             FormatValue(*FindField("precision"), spec))},
      {"checkpoints", CheckpointLine(spec, forecast)},
  }};
  std::string text;
  for (const auto& [label, line] : lines) text += fmt::format("  {:<13}{}\n", label, line);
  return text;
}

std::string FormatBytes(int64_t bytes) {
  static constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  return fmt::format("{:.{}f} {}", value, value < 9.95 ? 1 : 0, kUnits[unit]);
}

}  // namespace gp::runspec
