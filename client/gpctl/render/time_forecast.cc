#include "client/gpctl/render/time_forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/machine/processor.h"
#include "base/text/counted_noun.h"
#include "client/gpctl/terminal/number_text.h"
#include "plan/flops.h"
#include "runspec/batch_plan.h"

namespace gp::gpctl {
namespace {

constexpr double kAvx512Rate = 90e9;
constexpr double kAvx2Rate = 40e9;
const CoreRate kGenericRate = {5e9, "neither AVX2 nor AVX-512"};

// The number of steps that the budget allows when a step takes `step_seconds`.
int64_t StepsOf(const runspec::RunSpec& spec, double step_seconds) {
  const int64_t steps = runspec::TargetSteps(spec);
  const double wall_seconds = std::chrono::duration<double>(spec.budget.wall_time).count();
  if (wall_seconds <= 0) return steps;
  const auto timed = std::max<int64_t>(static_cast<int64_t>(wall_seconds / step_seconds), 1);
  return steps == 0 ? timed : std::min(steps, timed);
}

// An evaluation is a forward pass, a third of a training step's work for each token.
double EvaluationFlops(const runspec::RunSpec& spec, int64_t validation_tokens) {
  const int64_t asked = spec.eval.batches * spec.batch.micro_batch * spec.batch.sequence;
  const int64_t tokens = asked > 0 ? asked : validation_tokens;
  return runspec::TrainingFlopsPerToken(spec.model, spec.batch.sequence) / 3 *
         static_cast<double>(tokens);
}

// The number of evaluations: one every eval.every steps and one at the end.
int64_t Evaluations(const runspec::RunSpec& spec, int64_t steps) {
  const int64_t every = spec.eval.every_steps;
  return every > 0 ? (steps + every - 1) / every : 1;
}

}  // namespace

CoreRate StatedRate(const std::string& cpuinfo) {
  const std::string isa = ParseProcessor(cpuinfo).isa;
  if (isa.starts_with("AVX-512")) return {kAvx512Rate, isa};
  if (isa == "AVX2") return {kAvx2Rate, isa};
  return kGenericRate;
}

std::optional<CoreRate> RateOfLevel(const std::string& level) {
  if (level.starts_with("avx512") || level == "amx") return CoreRate{kAvx512Rate, "AVX-512"};
  if (level == "avx2") return CoreRate{kAvx2Rate, "AVX2"};
  if (level == "generic") return kGenericRate;
  return std::nullopt;
}

std::string RateText(const CoreRate& rate, int cores) {
  return fmt::format("{} at {:.0f} GFLOP/s, the stated rate of {}", CountedNoun(cores, "core"),
                     rate.flops_per_second / 1e9, rate.isa);
}

std::optional<TimeForecast> ForecastTime(const runspec::RunSpec& spec, const CoreRate& rate,
                                         int cores, int64_t validation_tokens) {
  const auto plan = runspec::PlanBatch(spec);
  if (spec.resources.device == "gpu" || !plan.ok()) return std::nullopt;
  const int64_t wanted = int64_t{spec.resources.workers} * spec.resources.threads;
  TimeForecast forecast{.cores = cores, .rate = rate};
  if (wanted > 0) forecast.cores = static_cast<int>(std::min<int64_t>(wanted, cores));
  const double flops = runspec::TrainingFlopsPerToken(spec.model, spec.batch.sequence,
                                                      runspec::TrainedPartsOf(spec)) *
                       static_cast<double>(plan->tokens_per_step);
  forecast.step_seconds = flops / (rate.flops_per_second * forecast.cores);
  forecast.steps = StepsOf(spec, forecast.step_seconds);
  forecast.evaluation_seconds =
      EvaluationFlops(spec, validation_tokens) / (rate.flops_per_second * forecast.cores);
  if (forecast.evaluation_seconds > 0) forecast.evaluations = Evaluations(spec, forecast.steps);
  return forecast;
}

std::optional<std::string> LostWorkWarning(const runspec::RunSpec& spec,
                                           const TimeForecast& forecast) {
  constexpr double kBearableSeconds = 3600;
  const runspec::CheckpointSpec& checkpoint = spec.checkpoint;
  if (checkpoint.every_auto) {
    if (forecast.step_seconds <= kBearableSeconds) return std::nullopt;
    return fmt::format(
        "one step takes about {}, and a checkpoint is saved after a step: a failure may lose that "
        "much work; use more or faster nodes, or a smaller batch.total_tokens",
        DurationText(forecast.step_seconds));
  }
  const bool only_at_end = checkpoint.every_steps == 0 || checkpoint.every_steps >= forecast.steps;
  const int64_t steps = only_at_end ? forecast.steps : checkpoint.every_steps;
  const double seconds = static_cast<double>(steps) * forecast.step_seconds;
  if (seconds <= kBearableSeconds) return std::nullopt;
  return fmt::format(
      "checkpoint.every {} saves {}: a failure may lose {} of work; set checkpoint.every: auto to "
      "save about every ten minutes",
      checkpoint.every_steps, only_at_end ? "at the end only" : "too rarely",
      DurationText(seconds));
}

std::string TimeText(const TimeForecast& forecast) {
  std::string text =
      fmt::format("about {} = {} steps of {}", DurationText(forecast.seconds()),
                  WithThousands(forecast.steps), StepTimeText(forecast.step_seconds));
  if (forecast.evaluations > 0) {
    text += fmt::format(", {} of {}", CountedNoun(forecast.evaluations, "evaluation"),
                        StepTimeText(forecast.evaluation_seconds));
  }
  return text + fmt::format(" (forecast: {})", RateText(forecast.rate, forecast.cores));
}

}  // namespace gp::gpctl
