#include "runspec/cross_check.h"

#include <fmt/format.h>

#include "runspec/batch_plan.h"
#include "runspec/count.h"

namespace gp::runspec {
namespace {

using Problems = std::vector<CrossProblem>;

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

void CheckName(const RunSpec& spec, Problems& problems) {
  bool good =
      !spec.name.empty() && spec.name.size() <= 63 && spec.name[0] != '-' && spec.name[0] != '.';
  for (const char c : spec.name) good = good && IsNameCharacter(c);
  if (good) return;
  problems.push_back(
      {{"name"},
       fmt::format("'{}' cannot be a run's name", spec.name),
       "use 1 to 63 letters, digits, '-', '_' or '.', and begin with a letter or digit"});
}

void CheckModel(const RunSpec& spec, Problems& problems) {
  const ModelShape& model = spec.model;
  if (model.channels % model.heads != 0) {
    const int64_t width = model.channels / model.heads * model.heads;
    const std::string nearest =
        width == 0 ? FormatCount(model.heads) : fmt::format("{} or {}", width, width + model.heads);
    problems.push_back({{"model.n_embd", "model.n_head", "preset"},
                        fmt::format("model.n_embd {} is not a multiple of model.n_head {}",
                                    model.channels, model.heads),
                        fmt::format("nearest that fit: n_embd {}", nearest)});
  }
  if (spec.batch.sequence > model.context) {
    problems.push_back(
        {{"batch.sequence", "model.n_ctx", "preset"},
         fmt::format("batch.sequence {} is longer than model.n_ctx {}", spec.batch.sequence,
                     model.context),
         fmt::format("lower batch.sequence to {} or raise model.n_ctx", model.context)});
  }
  if (!spec.vocabulary_auto && spec.data.tokenizer == "bytes" && model.vocabulary < 256) {
    problems.push_back(
        {{"model.vocab", "data.tokenizer"},
         fmt::format("model.vocab {} is smaller than the 256 ids of the bytes tokenizer",
                     model.vocabulary),
         "write model.vocab: auto"});
  }
}

void CheckData(const RunSpec& spec, Problems& problems) {
  const DataSpec& data = spec.data;
  if (data.text.empty() && data.train.empty()) {
    problems.push_back({{"data", "data.val", "data.tokenizer"},
                        "there is nothing to train on",
                        "name text files in data.text, or token shards in data.train"});
  }
  if (!data.text.empty() && !data.train.empty()) {
    problems.push_back({{"data.train", "data.text"},
                        "data.text and data.train exclude each other",
                        "keep one of them"});
  }
  if (!data.text.empty() && !data.val.empty()) {
    problems.push_back({{"data.val"},
                        "data.val belongs to data.train; data.text is split by data.val_fraction",
                        "leave data.val out"});
  }
  if (!data.train.empty() && data.tokenizer == "chars") {
    problems.push_back(
        {{"data.tokenizer", "data.train"},
         "data.tokenizer chars needs data.text: token shards do not say which character "
         "an id means",
         "train on the text itself, or use bytes or gpt2 shards"});
  }
}

void CheckWorkers(const RunSpec& spec, Problems& problems) {
  const ResourceSpec& resources = spec.resources;
  if (resources.min_workers > resources.workers) {
    problems.push_back({{"resources.min_workers", "resources.workers"},
                        fmt::format("resources.min_workers {} is more than resources.workers {}",
                                    resources.min_workers, resources.workers),
                        "0 means resources.workers"});
  }
  if (resources.max_workers != 0 && resources.max_workers < resources.workers) {
    problems.push_back({{"resources.max_workers", "resources.workers"},
                        fmt::format("resources.max_workers {} is less than resources.workers {}",
                                    resources.max_workers, resources.workers),
                        "0 means resources.workers"});
  }
}

void CheckBatch(const RunSpec& spec, Problems& problems) {
  if (const auto plan = PlanBatch(spec); plan.ok()) return;
  const int shards = LogicalShards(spec.resources);
  const FittingTotals totals = NearestFittingTotals(spec);
  const int64_t granule = shards * spec.batch.micro_batch * spec.batch.sequence;
  const std::string nearest =
      totals.below == totals.above
          ? FormatCount(totals.above)
          : fmt::format("{} or {}", FormatCount(totals.below), FormatCount(totals.above));
  problems.push_back(
      {{"batch.total_tokens", "batch.micro_batch", "batch.sequence", "resources.max_workers",
        "resources.workers", "preset"},
       fmt::format(
           "batch.total_tokens {} is not a multiple of {} logical shards x {} sequences x {} "
           "tokens = {}",
           FormatCount(spec.batch.total_tokens), shards, spec.batch.micro_batch,
           spec.batch.sequence, FormatCount(granule)),
       fmt::format("nearest that fit: {}", nearest)});
}

void CheckBudget(const RunSpec& spec, Problems& problems) {
  const BudgetSpec& budget = spec.budget;
  if (budget.steps > 0 || budget.tokens > 0 || budget.wall_time.count() > 0) return;
  problems.push_back({{"budget.steps", "budget.tokens", "budget.wall_time", "budget"},
                      "the run has no end: budget is empty",
                      "set budget.steps, budget.tokens or budget.wall_time"});
}

void CheckRetries(const RunSpec& spec, Problems& problems) {
  if (spec.retries.backoff <= spec.retries.backoff_max) return;
  problems.push_back({{"retries.backoff", "retries.backoff_max"},
                      "retries.backoff is longer than retries.backoff_max",
                      "raise retries.backoff_max"});
}

}  // namespace

Problems CrossCheck(const RunSpec& spec) {
  Problems problems;
  CheckName(spec, problems);
  CheckModel(spec, problems);
  CheckData(spec, problems);
  CheckWorkers(spec, problems);
  CheckBatch(spec, problems);
  CheckBudget(spec, problems);
  CheckRetries(spec, problems);
  return problems;
}

Problems CrossWarnings(const RunSpec& spec) {
  Problems warnings;
  const int64_t steps = TargetSteps(spec);
  const int64_t warmup = spec.schedule.warmup_steps;
  if (steps > 0 && warmup * 3 > steps) {
    warnings.push_back({{"schedule.warmup_steps", "budget.steps", "budget.tokens", "preset"},
                        fmt::format("warm-up takes {} of the run's {} steps", FormatCount(warmup),
                                    FormatCount(steps)),
                        "lower schedule.warmup_steps"});
  }
  const int64_t every = spec.checkpoint.every_steps;
  if (steps > 0 && every > steps) {
    warnings.push_back(
        {{"checkpoint.every", "budget.steps", "preset"},
         fmt::format("checkpoint.every {} is longer than the run of {} steps: only the "
                     "last step is saved",
                     FormatCount(every), FormatCount(steps)),
         ""});
  }
  if (!spec.data.train.empty() && spec.data.val.empty()) {
    warnings.push_back(
        {{"data.train"},
         "there is no data.val: the run has no validation loss and no best checkpoint",
         ""});
  }
  return warnings;
}

}  // namespace gp::runspec
