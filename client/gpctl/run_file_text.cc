#include "client/gpctl/run_file_text.h"

#include <iterator>

#include "base/duration.h"
#include "base/file.h"
#include "client/gpctl/terminal/number_text.h"
#include "runspec/batch_plan.h"
#include "runspec/memory_forecast.h"

namespace gp::gpctl {
namespace {

constexpr uint64_t kSizeBytesMax = 1 << 20;

std::string Line(const std::string& name, const std::string& value) {
  return fmt::format("  {:<11}{}\n", name, value);
}

std::string ModelText(const runspec::RunSpec& spec) {
  const runspec::ModelShape& shape = spec.model;
  const std::string vocabulary =
      spec.vocabulary_auto ? "taken from the tokenizer" : WithThousands(shape.vocabulary);
  return fmt::format("{} layers, {} heads, {} wide, context {}, vocabulary {}; {} parameters",
                     shape.layers, shape.heads, shape.channels, shape.context, vocabulary,
                     CompactCount(runspec::ParameterCount(shape)));
}

std::string DataText(const runspec::RunSpec& spec) {
  const auto& sources = spec.data.text.empty() ? spec.data.train : spec.data.text;
  std::string text = sources.empty() ? "none" : sources.front();
  if (sources.size() > 1) text += fmt::format(" and {} more", sources.size() - 1);
  if (spec.data.text.empty()) return text + " (token shards)";
  return text + fmt::format(", tokenizer {}, last {} for validation", spec.data.tokenizer,
                            Percent(spec.data.val_fraction));
}

std::string BatchText(const runspec::RunSpec& spec, const runspec::BatchPlan& plan) {
  return fmt::format("{} tokens a step = {} shards x {} x {} sequences x {} tokens, on {} worker{}",
                     WithThousands(plan.tokens_per_step), plan.logical_shards, plan.accumulation,
                     spec.batch.micro_batch, spec.batch.sequence, spec.resources.workers,
                     spec.resources.workers == 1 ? "" : "s");
}

std::string BudgetText(const runspec::RunSpec& spec, const runspec::BatchPlan& plan) {
  const int64_t steps = runspec::TargetSteps(spec);
  std::string text;
  if (steps > 0) {
    text = fmt::format(
        "{} steps = {} tokens", WithThousands(steps),
        CompactCount(static_cast<double>(steps) * static_cast<double>(plan.tokens_per_step)));
  }
  if (spec.budget.wall_time.count() > 0) {
    text +=
        (text.empty() ? "" : ", at most ") + FormatDuration(spec.budget.wall_time) + " of training";
  }
  return fmt::format("{}; warm-up {} steps, lr {:g}", text, spec.schedule.warmup_steps,
                     spec.optimizer.lr);
}

int64_t MemoryBytes(const runspec::RunSpec& spec, const runspec::BatchPlan& plan) {
  return runspec::ForecastMemory(spec, plan, std::max(1, spec.resources.threads)).total_bytes();
}

std::string Every(int64_t steps) {
  return steps > 0 ? fmt::format("every {} steps", steps) : "at the end";
}

bool IsDataPath(const std::string& override_text, const std::string& key) {
  return override_text.rfind(key + "=", 0) == 0;
}

// A YAML flow list; JSON's quoting is YAML's.
std::string PathList(const std::string& key, const std::vector<std::string>& paths) {
  return key + "=" + Json(paths).dump();
}

}  // namespace

StatusOr<RunFileText> ReadRunFile(const std::string& path, Console& console) {
  if (path == "-") {
    std::string text((std::istreambuf_iterator<char>(console.in)),
                     std::istreambuf_iterator<char>());
    return RunFileText{std::move(text), "(standard input)", console.working_directory};
  }
  const std::string absolute = AbsolutePath(path, console.working_directory);
  StatusOr<std::string> text = ReadFile(absolute, kSizeBytesMax);
  if (!text.ok()) {
    return InvalidArgument("{}; expected a run file, 'gpctl init' writes one",
                           Message(text.status()));
  }
  return RunFileText{*std::move(text), path, DirectoryOf(absolute)};
}

runspec::RunFileResult CheckRunFile(const RunFileText& file,
                                    const std::vector<std::string>& overrides,
                                    const Console& console) {
  return runspec::LoadRunFile(
      file.text, file.name, overrides,
      {.base_directory = file.directory, .override_directory = console.working_directory});
}

std::vector<std::string> AbsoluteOverrides(const std::vector<std::string>& overrides,
                                           const runspec::RunSpec& spec) {
  std::vector<std::string> absolute;
  for (const std::string& text : overrides) {
    if (IsDataPath(text, "data.text")) {
      absolute.push_back(PathList("data.text", spec.data.text));
    } else if (IsDataPath(text, "data.train")) {
      absolute.push_back(PathList("data.train", spec.data.train));
    } else if (IsDataPath(text, "data.val")) {
      absolute.push_back(PathList("data.val", spec.data.val));
    } else {
      absolute.push_back(text);
    }
  }
  return absolute;
}

Status ProblemsStatus(const runspec::RunFileResult& result) {
  std::string text = RenderProblems(result.problems);
  if (result.problems.size() > 1) text += fmt::format("{} errors. ", result.problems.size());
  return InvalidArgument("{}All keys: gpctl explain run", text);
}

std::string PlanText(const runspec::RunSpec& spec) {
  std::string out = fmt::format("Plan for {}\n", spec.name) + Line("model", ModelText(spec)) +
                    Line("data", DataText(spec));
  const auto plan = runspec::PlanBatch(spec);
  if (!plan.ok()) return out;
  out += Line("batch", BatchText(spec, *plan));
  out += Line("budget", BudgetText(spec, *plan));
  out += Line("memory", fmt::format("about {} for each worker", Bytes(MemoryBytes(spec, *plan))));
  out += Line("records", fmt::format("validation {}, checkpoint {}", Every(spec.eval.every_steps),
                                     Every(spec.checkpoint.every_steps)));
  return out;
}

Json PlanFields(const runspec::RunSpec& spec) {
  Json json = {{"name", spec.name}, {"workers", spec.resources.workers}};
  if (!spec.vocabulary_auto) json["parameters"] = runspec::ParameterCount(spec.model);
  const auto plan = runspec::PlanBatch(spec);
  if (!plan.ok()) return json;
  json["tokens_per_step"] = plan->tokens_per_step;
  json["logical_shards"] = plan->logical_shards;
  json["accumulation"] = plan->accumulation;
  json["target_steps"] = runspec::TargetSteps(spec);
  json["memory_bytes"] = MemoryBytes(spec, *plan);
  return json;
}

}  // namespace gp::gpctl
