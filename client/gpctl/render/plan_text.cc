#include "client/gpctl/render/plan_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/duration.h"
#include "base/file.h"
#include "base/machine/usable_cores.h"
#include "base/text/counted_noun.h"
#include "client/gpctl/render/time_forecast.h"
#include "client/gpctl/terminal/number_text.h"
#include "plan/batch_ramp.h"
#include "plan/memory_forecast.h"
#include "plan/model_part.h"
#include "runspec/batch_plan.h"
#include "runspec/initial_model.h"

namespace gp::gpctl {
namespace {

using runspec::BatchPlan;
using runspec::RunSpec;

std::string Line(const std::string& name, const std::string& value) {
  return fmt::format("  {:<11}{}\n", name, value);
}

int Threads(const RunSpec& spec) {
  if (spec.resources.threads > 0) return spec.resources.threads;
  const auto processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return std::max(processors / spec.resources.workers, 1);
}

bool OnGpu(const RunSpec& spec) { return spec.resources.device == "gpu"; }

// Memory for one worker. The GPU that a worker will get is unknown, so a run on GPUs has no limit.
// On CPUs, the ranks may be spread over several machines.
int64_t PerWorker(const RunSpec& spec, const AvailableMemory& memory) {
  if (OnGpu(spec)) return std::numeric_limits<int64_t>::max();
  return memory.bytes /
         runspec::RanksBeside(sysconf(_SC_NPROCESSORS_ONLN), Threads(spec), spec.resources.workers);
}

// A run file with every `auto` replaced by the value that it would have on this machine.
struct ResolvedPlan {
  RunSpec spec;
  BatchPlan plan;
};

// Nullopt when the batch cannot be divided. If memory does not suffice for one sequence, plans one
// sequence anyway.
std::optional<ResolvedPlan> ResolvePlan(RunSpec spec, const AvailableMemory& memory) {
  auto plan = runspec::PlanBatch(spec);
  if (!plan.ok()) return std::nullopt;
  if (spec.batch.micro_batch_auto) {
    const int64_t rows = OnGpu(spec) ? 1
                                     : runspec::LargestMicroBatch(spec, *plan, Threads(spec),
                                                                  PerWorker(spec, memory));
    spec.batch.micro_batch = std::max<int64_t>(rows, 1);
    spec.batch.micro_batch_auto = false;
    plan = runspec::PlanBatch(spec);
    if (!plan.ok()) return std::nullopt;
  }
  return ResolvedPlan{std::move(spec), *plan};
}

std::string ModelText(const RunSpec& spec) {
  const runspec::ModelShape& shape = spec.model;
  const std::string vocabulary =
      spec.vocabulary_auto ? "taken from the tokenizer" : WithThousands(shape.vocabulary);
  return fmt::format("{} layers, {} heads, {} wide, context {}, vocabulary {}; {} parameters",
                     shape.layers, shape.heads, shape.channels, shape.context, vocabulary,
                     CompactCount(runspec::ParameterCount(shape)));
}

int64_t TrainedCount(const RunSpec& spec) {
  return runspec::TrainedParameterCount(
      runspec::MakeParameterLayout(spec.model, runspec::TrainedPartsOf(spec)));
}

// "last 2 blocks, ln_f: 14.2M parameters; lr of wte 1e-05".
std::string TrainedText(const RunSpec& spec) {
  std::string text =
      fmt::format("{}: {} parameters",
                  spec.train.empty() ? "all" : fmt::format("{}", fmt::join(spec.train, ", ")),
                  CompactCount(static_cast<double>(TrainedCount(spec))));
  const char* separator = "; lr of ";
  for (const auto& [part, rate] : spec.learning_rates) {
    text += fmt::format("{}{} {:g}", std::exchange(separator, ", "), part, rate);
  }
  return text;
}

std::string DataText(const RunSpec& spec) {
  const runspec::DataSpec& data = spec.data;
  const auto& sources = !data.stream.empty() ? data.stream
                        : data.text.empty()  ? data.train
                                             : data.text;
  std::string text = sources.empty() ? "none" : sources.front();
  if (sources.size() > 1) text += fmt::format(" and {} more", sources.size() - 1);
  if (!data.stream.empty()) return text + ", read during the run, tokenizer " + data.tokenizer;
  if (data.text.empty()) return text + " (token shards)";
  return text + fmt::format(", tokenizer {}, last {} for validation", data.tokenizer,
                            Percent(data.val_fraction));
}

// A line about the data files.
std::string FoundText(const RunSpec& spec, const DataReport& data) {
  const char* about = data.estimated ? "about " : "";
  std::string text = fmt::format(
      "{} file{} ({}): {}{} tokens to train on, {} for validation; {} ids ({})", data.train_files,
      data.train_files == 1 ? "" : "s", data.format, about, WithThousands(data.train_tokens),
      WithThousands(data.validation_tokens), WithThousands(data.vocabulary), spec.data.tokenizer);
  if (data.largest_id < 0) return text;
  return text + fmt::format(", the largest {}is {}", data.sampled ? "in a sample " : "",
                            WithThousands(data.largest_id));
}

// "2 passes", "79,700 passes" (not 7.97e+04, as {:g} would write).
std::string PassesText(double passes) {
  if (passes >= 1000) return WithThousands(std::llround(passes)) + " passes";
  if (passes < 0.001) return "less than 0.001 passes";
  const std::string number = fmt::format("{:.3g}", passes);
  return number + (number == "1" ? " pass" : " passes");
}

// A line about data.weights: the share of each entry, and the number of passes over the entry if
// the run's number of tokens is known.
std::string MixtureText(const RunSpec& spec, const DataReport* data, int64_t tokens) {
  const runspec::DataSpec& mixed = spec.data;
  const double sum = std::accumulate(mixed.weights.begin(), mixed.weights.end(), 0.0);
  std::vector<std::string> parts;
  for (size_t i = 0; i < mixed.weights.size(); ++i) {
    const double share = mixed.weights[i] / sum;
    std::string part = fmt::format("{:.3g} % {}", 100 * share, mixed.train[i]);
    if (data != nullptr && tokens > 0) {
      part += fmt::format(" ({})", PassesText(share * static_cast<double>(tokens) /
                                              static_cast<double>(data->entry_tokens.at(i))));
    }
    parts.push_back(std::move(part));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string BatchText(const ResolvedPlan& resolved, bool automatic) {
  const auto& [spec, plan] = resolved;
  std::string text = fmt::format(
      "{} tokens per step = {} shard{} x {} x {} sequences{} x {} tokens, on {} worker{}",
      WithThousands(plan.tokens_per_step), WithThousands(plan.logical_shards),
      plan.logical_shards == 1 ? "" : "s", plan.accumulation, spec.batch.micro_batch,
      automatic ? " (auto, here)" : "", spec.batch.sequence, spec.resources.workers,
      spec.resources.workers == 1 ? "" : "s");
  if (plan.ramp_steps == 0) return text;
  return text + fmt::format("; from {} tokens over the first {} steps",
                            WithThousands(runspec::TokensAt(plan, 0)),
                            WithThousands(plan.ramp_steps));
}

std::string BudgetText(const RunSpec& spec, const BatchPlan& plan, const DataReport* data) {
  const int64_t steps = runspec::TargetSteps(spec);
  std::string text;
  if (steps > 0) {
    const int64_t tokens = runspec::TokensBefore(plan, steps);
    text = fmt::format("{} steps = {} tokens", WithThousands(steps),
                       CompactCount(static_cast<double>(tokens)));
    if (data != nullptr) text += " = " + PassesText(Passes(tokens, *data)) + " over the data";
  }
  if (spec.budget.wall_time.count() > 0) {
    text +=
        (text.empty() ? "" : ", at most ") + FormatDuration(spec.budget.wall_time) + " of training";
  }
  text += fmt::format("; warm-up {} steps, lr {:g}",
                      WithThousands(runspec::ScheduleInSteps(spec.schedule, plan).warmup_steps),
                      spec.optimizer.lr);
  if (spec.eval.patience == 0) return text;
  return text + fmt::format("; stops after {} without improvement",
                            CountedNoun(spec.eval.patience, "evaluation"));
}

runspec::MemoryForecast Forecast(const ResolvedPlan& resolved) {
  return runspec::ForecastMemory(resolved.spec, resolved.plan, Threads(resolved.spec));
}

std::string MemoryText(const runspec::MemoryForecast& forecast, bool on_gpu) {
  const auto part = [](const char* name, int64_t bytes) {
    return bytes == 0 ? "" : fmt::format("{} {}, ", name, Bytes(static_cast<uint64_t>(bytes)));
  };
  std::string parts =
      part("weights", forecast.parameters_bytes) + part("gradients", forecast.gradients_bytes) +
      part("optimizer", forecast.optimizer_bytes) +
      part("activations", forecast.activations_bytes) + part("snapshot", forecast.snapshot_bytes) +
      part("other", forecast.workspace_bytes + forecast.sampling_bytes + forecast.process_bytes);
  parts.resize(parts.size() - 2);
  return fmt::format("about {}{} for each worker ({})",
                     Bytes(static_cast<uint64_t>(forecast.total_bytes())),
                     on_gpu ? " of GPU memory" : "", parts);
}

std::string Every(int64_t steps) {
  return steps > 0 ? fmt::format("every {} steps", WithThousands(steps)) : "at the end";
}

// The time forecast for the cores that this process may use; `data` may be null.
std::optional<TimeForecast> ForecastHere(const RunSpec& spec, const DataReport* data) {
  return ForecastTime(spec, StatedRate(ReadFile("/proc/cpuinfo").value_or("")), CountUsableCores(),
                      data == nullptr ? 0 : data->validation_tokens);
}

Json TimeFields(const TimeForecast& forecast) {
  return {{"step_seconds", forecast.step_seconds},
          {"steps", forecast.steps},
          {"evaluation_seconds", forecast.evaluation_seconds},
          {"evaluations", forecast.evaluations},
          {"seconds", forecast.seconds()},
          {"cores", forecast.cores},
          {"stated_flops_per_core", forecast.rate.flops_per_second}};
}

Json MemoryFields(const runspec::MemoryForecast& forecast) {
  return {{"parameters_bytes", forecast.parameters_bytes},
          {"gradients_bytes", forecast.gradients_bytes},
          {"optimizer_bytes", forecast.optimizer_bytes},
          {"activations_bytes", forecast.activations_bytes},
          {"workspace_bytes", forecast.workspace_bytes},
          {"snapshot_bytes", forecast.snapshot_bytes},
          {"sampling_bytes", forecast.sampling_bytes},
          {"process_bytes", forecast.process_bytes}};
}

}  // namespace

double Passes(int64_t tokens, const DataReport& data) {
  return static_cast<double>(tokens) / static_cast<double>(std::max<int64_t>(data.train_tokens, 1));
}

Json DataFields(const DataReport& data) {
  return {{"format", data.format},
          {"files", data.train_files},
          {"train_tokens", data.train_tokens},
          {"validation_tokens", data.validation_tokens},
          {"estimated", data.estimated},
          {"tokenizer_ids", data.vocabulary},
          {"largest_id", data.largest_id < 0 ? Json() : Json(data.largest_id)},
          {"sampled", data.sampled}};
}

std::string PlanText(const RunSpec& spec, const AvailableMemory& memory, const DataReport* data) {
  std::string out =
      fmt::format("Plan for {}\n", spec.name) + Line("model", ModelText(spec)) +
      (spec.init_from == runspec::kFromScratch ? "" : Line("parent", spec.init_from)) +
      (spec.train.empty() && spec.learning_rates.empty() ? ""
                                                         : Line("trained", TrainedText(spec))) +
      Line("data", DataText(spec));
  if (data != nullptr) out += Line("found", FoundText(spec, *data));
  const auto resolved = ResolvePlan(spec, memory);
  if (!resolved) return out;
  if (!spec.data.weights.empty()) {
    const int64_t steps = runspec::TargetSteps(resolved->spec);
    out += Line("mixture", MixtureText(spec, data, runspec::TokensBefore(resolved->plan, steps)));
  }
  out += Line("batch", BatchText(*resolved, spec.batch.micro_batch_auto));
  out += Line("budget", BudgetText(spec, resolved->plan, data));
  if (const auto forecast = ForecastHere(resolved->spec, data))
    out += Line("time", TimeText(*forecast));
  out += Line("memory", MemoryText(Forecast(*resolved), OnGpu(spec)));
  out +=
      Line("records", fmt::format("validation {}, checkpoint {}", Every(spec.eval.every_steps),
                                  spec.checkpoint.every_auto ? "about every ten minutes"
                                                             : Every(spec.checkpoint.every_steps)));
  return out;
}

Json PlanFields(const RunSpec& spec, const AvailableMemory& memory, const DataReport* data) {
  Json json = {{"name", spec.name}, {"workers", spec.resources.workers}};
  if (!spec.vocabulary_auto) json["parameters"] = runspec::ParameterCount(spec.model);
  if (!spec.vocabulary_auto && !spec.train.empty()) json["trained_parameters"] = TrainedCount(spec);
  const auto resolved = ResolvePlan(spec, memory);
  if (!resolved) return json;
  const runspec::MemoryForecast forecast = Forecast(*resolved);
  json["tokens_per_step"] = resolved->plan.tokens_per_step;
  json["logical_shards"] = resolved->plan.logical_shards;
  json["accumulation"] = resolved->plan.accumulation;
  json["micro_batch"] = resolved->spec.batch.micro_batch;
  json["target_steps"] = runspec::TargetSteps(spec);
  if (const auto time = ForecastHere(resolved->spec, data))
    json["time_forecast"] = TimeFields(*time);
  if (const auto warning = LostWorkWarning(spec, memory)) json["lost_work_warning"] = *warning;
  json["memory_bytes"] = forecast.total_bytes();
  json["memory"] = MemoryFields(forecast);
  if (OnGpu(spec)) return json;  // gpctl does not know the memory of the service's GPUs
  json["memory_available_bytes"] = memory.bytes;
  const auto warning = MemoryWarning(spec, memory);
  json["fits"] = !warning.has_value();
  if (warning) json["memory_warning"] = *warning;
  return json;
}

std::optional<std::string> LostWorkWarning(const RunSpec& spec, const AvailableMemory& memory) {
  const auto resolved = ResolvePlan(spec, memory);
  if (!resolved) return std::nullopt;
  const auto forecast = ForecastHere(resolved->spec, nullptr);
  return forecast ? LostWorkWarning(resolved->spec, *forecast) : std::nullopt;
}

std::optional<std::string> MemoryWarning(const RunSpec& spec, const AvailableMemory& memory) {
  const auto resolved = ResolvePlan(spec, memory);
  if (!resolved) return std::nullopt;
  const auto problem = runspec::MemoryProblem(resolved->spec, resolved->plan, Threads(spec),
                                              PerWorker(spec, memory), memory.limit);
  if (!problem) return std::nullopt;
  return "does not fit this machine: " + *problem;
}

}  // namespace gp::gpctl
