#include "runspec/cross_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/namespace_name.h"
#include "base/text/thousands.h"
#include "plan/batch_ramp.h"
#include "runspec/batch_plan.h"
#include "runspec/engine_check.h"
#include "runspec/gpu_settings.h"
#include "runspec/initial_model.h"
#include "runspec/model_part_check.h"

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

void CheckNamespace(const RunSpec& spec, Problems& problems) {
  if (IsNamespaceName(spec.run_namespace)) return;
  problems.push_back({{"namespace"},
                      fmt::format("'{}' cannot be a namespace", spec.run_namespace),
                      fmt::format("use {}", kNamespaceRule)});
}

// Checks only the tokenizer "bytes". For others the number of ids depends on the data or an
// installed file.
void CheckVocabulary(const RunSpec& spec, Problems& problems) {
  constexpr int64_t kByteIds = 256;
  if (spec.vocabulary_auto || spec.data.tokenizer != "bytes") return;
  if (spec.model.vocabulary >= kByteIds) return;
  problems.push_back({{"model.vocab", "data.tokenizer"},
                      DescribeSmallVocabulary(spec, kByteIds),
                      SmallVocabularyHint(spec),
                      "data.tokenizer"});
}

void CheckModel(const RunSpec& spec, Problems& problems) {
  const ModelShape& model = spec.model;
  if (model.channels % model.heads != 0) {
    const int64_t width = model.channels / model.heads * model.heads;
    const std::string nearest = width == 0 ? WithThousands(model.heads)
                                           : fmt::format("{} or {}", width, width + model.heads);
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
  CheckVocabulary(spec, problems);
}

void CheckData(const RunSpec& spec, Problems& problems) {
  const DataSpec& data = spec.data;
  if (data.text.empty() && data.train.empty() && data.stream.empty()) {
    problems.push_back({{"data", "data.val", "data.tokenizer"},
                        "there is nothing to train on",
                        "name text files in data.text, token shards in data.train, or text to read "
                        "during the run in data.stream"});
  }
  const auto exclusive = [&](const char* one, const char* other, bool both) {
    if (!both) return;
    problems.push_back({{other, one},
                        fmt::format("{} and {} exclude each other", one, other),
                        "keep one of them"});
  };
  exclusive("data.text", "data.train", !data.text.empty() && !data.train.empty());
  exclusive("data.text", "data.stream", !data.text.empty() && !data.stream.empty());
  exclusive("data.train", "data.stream", !data.train.empty() && !data.stream.empty());
  if (!data.text.empty() && data.stream.empty() && !data.val.empty()) {
    problems.push_back({{"data.val"},
                        "data.val belongs to data.train and data.stream; data.text is split by "
                        "data.val_fraction",
                        "leave data.val out"});
  }
}

void CheckFormat(const DataSpec& data, Problems& problems) {
  const auto belongs = [&](DataFormat format, bool there, const char* name, const char* keys) {
    if (data.format != format || there) return;
    problems.push_back({{"data.format"},
                        fmt::format("data.format: {} belongs to {}", name, keys),
                        "leave data.format out"});
  };
  belongs(DataFormat::kText, data.train.empty(), "text", "data.text and data.stream");
  belongs(DataFormat::kJsonLines, !data.stream.empty(), "jsonl", "data.stream");
  belongs(DataFormat::kUint16, !data.train.empty(), "uint16", "data.train");
}

// Checks data.split_on, which divides a text into documents.
void CheckSplitOn(const DataSpec& data, Problems& problems) {
  if (data.split_on.empty()) return;
  if (!data.train.empty()) {
    problems.push_back({{"data.split_on"},
                        "data.split_on belongs to data.text and data.stream",
                        "leave it out, and give it to 'gpctl data prepare' as --split-on"});
  }
  if (data.split != DocumentSplit::kFile) {
    problems.push_back({{"data.split_on", "data.split"},
                        "documents end either at a string or at lines",
                        "leave out data.split or data.split_on"});
  }
  if (data.tokenizer == "bytes" || data.tokenizer == "chars") {
    problems.push_back(
        {{"data.split_on", "data.tokenizer", "preset"},
         fmt::format(
             "data.tokenizer: {} has no end-of-text token, so nothing would separate the documents",
             data.tokenizer),
         "use another tokenizer: gpt2, or one from 'gpctl data train-tokenizer'; or leave out "
         "data.split_on"});
  }
}

void CheckStream(const RunSpec& spec, Problems& problems) {
  const DataSpec& data = spec.data;
  if (data.stream.empty()) {
    const DataSpec defaults;
    if (data.split != defaults.split || data.text_field != defaults.text_field) {
      problems.push_back({{"data.split", "data.text_field"},
                          "data.split and data.text_field belong to data.stream",
                          "leave them out"});
    }
    return;
  }
  if (data.order != BatchOrder::kSequential) {
    problems.push_back({{"data.order", "data.stream"},
                        "a stream is read in its order",
                        "leave data.order out, or make shards with 'gpctl data prepare' for "
                        "data.train"});
  }
  if (data.tokenizer == "chars") {
    problems.push_back({{"data.tokenizer", "preset"},
                        "data.tokenizer: chars needs the whole text, which data.stream does "
                        "not read before it trains",
                        "use data.text, or another tokenizer: bytes, gpt2, or one from 'gpctl data "
                        "train-tokenizer'"});
  }
}

void CheckMixture(const RunSpec& spec, Problems& problems) {
  const DataSpec& data = spec.data;
  if (data.weights.empty()) return;
  if (data.weights.size() != data.train.size()) {
    problems.push_back({{"data.weights", "data.train"},
                        fmt::format("data.weights has {} entries and data.train has {}",
                                    data.weights.size(), data.train.size()),
                        "give one weight for each entry of data.train",
                        "data.train"});
  }
  if (data.weights.size() > kMixedSourcesMax) {
    problems.push_back({{"data.weights"},
                        fmt::format("data.weights has {} entries, more than {}",
                                    data.weights.size(), kMixedSourcesMax),
                        "join files with patterns"});
  }
  if (data.order == BatchOrder::kSequential) {
    problems.push_back({{"data.order", "data.weights", "preset"},
                        "data.order: sequential reads the files one after the other, and "
                        "data.weights mixes them",
                        "use data.order: shuffled or random"});
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

// resources.device requests GPUs, one for each rank; resources.gpus may only repeat that number.
void CheckGpus(const RunSpec& spec, Problems& problems) {
  const ResourceSpec& resources = spec.resources;
  if (resources.gpus == 0) return;
  if (resources.device == "cpu") {
    problems.push_back({{"resources.gpus", "resources.device"},
                        fmt::format("resources.gpus {} needs resources.device: gpu or auto; it is "
                                    "cpu",
                                    resources.gpus),
                        "set resources.device: gpu, or leave resources.gpus out",
                        "resources.device"});
  } else if (resources.gpus != resources.workers) {
    problems.push_back({{"resources.gpus", "resources.workers"},
                        fmt::format("resources.gpus {} is not resources.workers {}: each rank "
                                    "takes one GPU",
                                    resources.gpus, resources.workers),
                        "set both to the same number, or leave resources.gpus out",
                        "resources.workers"});
  }
}

void CheckTotalTokens(const RunSpec& spec, Problems& problems) {
  const int64_t granule = BatchGranule(spec);
  if (spec.batch.total_tokens % granule == 0) return;
  const FittingTotals totals = NearestFittingTotals(spec);
  const std::string nearest =
      totals.below == totals.above
          ? WithThousands(totals.above)
          : fmt::format("{} or {}", WithThousands(totals.below), WithThousands(totals.above));
  problems.push_back({{"batch.total_tokens", "batch.micro_batch", "batch.sequence",
                       "resources.max_workers", "resources.workers", "preset"},
                      fmt::format("batch.total_tokens {} is not a multiple of {} = {}",
                                  WithThousands(spec.batch.total_tokens), DescribeGranule(spec),
                                  WithThousands(granule)),
                      fmt::format("nearest that fit: {}", nearest)});
}

void CheckRamp(const RunSpec& spec, Problems& problems) {
  const BatchSpec& batch = spec.batch;
  if (batch.ramp_from_tokens == 0 && batch.ramp_steps == 0) return;
  if (batch.ramp_from_tokens == 0 || batch.ramp_steps == 0) {
    problems.push_back({{"batch.ramp_from_tokens", "batch.ramp_steps"},
                        "batch.ramp_from_tokens and batch.ramp_steps need each other",
                        "give both, or leave both out for a batch of constant size"});
    return;
  }
  const int64_t granule = BatchGranule(spec);
  if (batch.micro_batch_auto) {
    problems.push_back({{"batch.ramp_from_tokens", "batch.micro_batch"},
                        "a batch ramp grows by whole micro-batches, whose size batch.micro_batch: "
                        "auto leaves open",
                        "give batch.micro_batch a number",
                        "batch.micro_batch"});
  } else if (batch.ramp_from_tokens % granule != 0) {
    problems.push_back(
        {{"batch.ramp_from_tokens"},
         fmt::format("batch.ramp_from_tokens {} is not a multiple of {} = {}",
                     WithThousands(batch.ramp_from_tokens), DescribeGranule(spec),
                     WithThousands(granule)),
         fmt::format(
             "nearest that fits: {}",
             WithThousands(std::max(batch.ramp_from_tokens / granule, int64_t{1}) * granule))});
  } else if (batch.ramp_from_tokens > std::max(batch.total_tokens, granule)) {
    problems.push_back({{"batch.ramp_from_tokens", "batch.total_tokens"},
                        fmt::format("batch.ramp_from_tokens {} is more than the {} of the full "
                                    "batch",
                                    WithThousands(batch.ramp_from_tokens),
                                    WithThousands(std::max(batch.total_tokens, granule))),
                        "a ramp starts smaller than batch.total_tokens"});
  }
}

void CheckBatch(const RunSpec& spec, Problems& problems) {
  CheckTotalTokens(spec, problems);
  CheckRamp(spec, problems);
  if (spec.batch.micro_batch_auto && spec.batch.total_tokens == 0) {
    problems.push_back({{"batch.micro_batch", "batch.total_tokens"},
                        "batch.micro_batch: auto needs batch.total_tokens: the batch of a step "
                        "must not depend on a machine's memory",
                        "set batch.total_tokens"});
  }
}

void CheckSchedule(const RunSpec& spec, Problems& problems) {
  const ScheduleSpec& schedule = spec.schedule;
  const auto exclusive = [&](const char* steps, const char* tokens, bool both) {
    if (!both) return;
    problems.push_back({{tokens, steps},
                        fmt::format("{} and {} exclude each other", steps, tokens),
                        "keep one of them",
                        steps});
  };
  exclusive("schedule.warmup_steps", "schedule.warmup_tokens",
            schedule.warmup_steps > 0 && schedule.warmup_tokens > 0);
  exclusive("schedule.decay_steps", "schedule.decay_tokens",
            schedule.decay_steps > 0 && schedule.decay_tokens > 0);
  if (schedule.power != ScheduleSpec().power && schedule.kind != ScheduleKind::kPower) {
    problems.push_back({{"schedule.power", "schedule.kind"},
                        "schedule.power has no effect without schedule.kind: power",
                        "set schedule.kind: power, or leave the key out",
                        "schedule.kind"});
  }
}

void CheckEarlyStop(const RunSpec& spec, Problems& problems) {
  if (spec.eval.patience == 0) return;
  if (spec.eval.every_steps == 0) {
    problems.push_back({{"eval.patience", "eval.every"},
                        "eval.patience counts evaluations, and eval.every is 0",
                        "set eval.every"});
  }
  const bool from_text = !spec.data.text.empty() && spec.data.val_fraction > 0;
  if (!from_text && spec.data.val.empty()) {
    problems.push_back({{"eval.patience", "data.val", "data.val_fraction"},
                        "eval.patience needs a validation split",
                        "set data.val, or data.val_fraction above 0 for data.text"});
  }
}

// Whether the run has text or tokens to measure the validation loss on.
bool HasValidation(const RunSpec& spec) {
  return !spec.data.val.empty() || (!spec.data.text.empty() && spec.data.val_fraction > 0);
}

void CheckSavesOnBest(const RunSpec& spec, Problems& problems) {
  if (!spec.checkpoint.on_best) return;
  if (spec.eval.every_steps == 0) {
    problems.push_back({{"checkpoint.on_best", "eval.every"},
                        "checkpoint.on_best saves after evaluations, and eval.every is 0",
                        "set eval.every"});
  }
  if (!HasValidation(spec)) {
    problems.push_back({{"checkpoint.on_best", "data.val", "data.val_fraction"},
                        "checkpoint.on_best needs a validation split",
                        "set data.val, or data.val_fraction above 0 for data.text"});
  }
  if (!spec.checkpoint.keep_best) {
    problems.push_back({{"checkpoint.on_best", "checkpoint.keep_best"},
                        "checkpoint.on_best saves what checkpoint.keep_best: false removes again",
                        "leave checkpoint.keep_best out"});
  }
}

void CheckBudget(const RunSpec& spec, Problems& problems) {
  const BudgetSpec& budget = spec.budget;
  if (budget.steps > 0 || budget.tokens > 0 || budget.wall_time.count() > 0) return;
  problems.push_back({{"budget.steps", "budget.tokens", "budget.wall_time", "budget"},
                      "the run has no end: budget is empty",
                      "set budget.steps, budget.tokens or budget.wall_time"});
}

void CheckInitialState(const RunSpec& spec, Problems& problems) {
  if (spec.init_from != kFromScratch) return;
  const auto refuse = [&](const char* key, bool keeps) {
    if (!keeps) return;
    problems.push_back(
        {{key, "init_from"},
         fmt::format("{}: keep takes over the state of a checkpoint, and init_from "
                     "is {}",
                     key, kFromScratch),
         fmt::format("set init_from to a checkpoint, like RUN@STEP, or {}: reset", key),
         "init_from"});
  };
  refuse("init_optimizer", spec.KeepsOptimizer());
  refuse("init_data", spec.KeepsData());
}

void CheckRetries(const RunSpec& spec, Problems& problems) {
  if (spec.retries.backoff <= spec.retries.backoff_max) return;
  problems.push_back({{"retries.backoff", "retries.backoff_max"},
                      "retries.backoff is longer than retries.backoff_max",
                      "raise retries.backoff_max"});
}

// Why a run with stability.recovery: in_place restarts all the same when a rank dies; empty when it
// goes on. The first placement decides for resources.device: auto.
std::string WhyItRestarts(const RunSpec& spec) {
  if (std::max(spec.resources.workers, spec.resources.max_workers) == 1) return "a run of one rank";
  if (spec.resources.device == "gpu") return "a run on GPUs";
  if (spec.engine.zero1) return "a run with engine.zero1";
  if (spec.optimizer.kind == OptimizerKind::kMuon) return "a run with optimizer.kind: muon";
  return "";
}

void WarnOfRecovery(const RunSpec& spec, Problems& warnings) {
  const int fewest = spec.resources.min_workers;
  if (spec.stability.recovery == Recovery::kInPlace) {
    const std::string why = WhyItRestarts(spec);
    if (why.empty()) return;
    warnings.push_back({{"stability.recovery"},
                        fmt::format("stability.recovery: in_place has no effect here: {} starts "
                                    "again from its newest checkpoint when a rank dies",
                                    why),
                        "leave it out"});
  } else if (fewest != 0 && fewest < spec.resources.workers) {
    warnings.push_back({{"resources.min_workers"},
                        fmt::format("resources.min_workers {} has no effect: the run needs all of "
                                    "its {} ranks whenever it trains",
                                    fewest, spec.resources.workers),
                        "set stability.recovery: in_place, or leave it out"});
  }
}

}  // namespace

std::string DescribeSmallVocabulary(const RunSpec& spec, int64_t tokenizer_vocabulary) {
  return fmt::format(
      "model.vocab {} is smaller than the {} ids of the {} tokenizer: some tokens would have no "
      "embedding",
      spec.model.vocabulary, WithThousands(tokenizer_vocabulary), spec.data.tokenizer);
}

std::string SmallVocabularyHint(const RunSpec& spec) {
  const bool other_shards = !spec.data.train.empty() && spec.data.tokenizer != "chars";
  return std::string("write model.vocab: auto") +
         (other_shards ? ", or for nanoGPT's shards of characters data.tokenizer: chars" : "");
}

Problems CrossCheck(const RunSpec& spec) {
  Problems problems;
  CheckName(spec, problems);
  CheckNamespace(spec, problems);
  CheckModel(spec, problems);
  CheckData(spec, problems);
  CheckFormat(spec.data, problems);
  CheckSplitOn(spec.data, problems);
  CheckStream(spec, problems);
  CheckMixture(spec, problems);
  CheckWorkers(spec, problems);
  CheckGpus(spec, problems);
  CheckBatch(spec, problems);
  CheckSchedule(spec, problems);
  CheckEngine(spec, problems);
  CheckModelParts(spec, problems);
  CheckEarlyStop(spec, problems);
  CheckSavesOnBest(spec, problems);
  CheckBudget(spec, problems);
  CheckRetries(spec, problems);
  CheckInitialState(spec, problems);
  return problems;
}

Problems CrossWarnings(const RunSpec& spec) {
  Problems warnings;
  const int64_t steps = TargetSteps(spec);
  const int64_t warmup = ScheduleInSteps(spec.schedule, PlanBatch(spec).value()).warmup_steps;
  if (steps > 0 && warmup * 3 > steps) {
    warnings.push_back({{"schedule.warmup_steps", "schedule.warmup_tokens", "budget.steps",
                         "budget.tokens", "preset"},
                        fmt::format("warm-up takes {} of the run's {} steps", WithThousands(warmup),
                                    WithThousands(steps)),
                        "lower schedule.warmup_steps"});
  }
  const int64_t every = spec.checkpoint.every_steps;
  if (steps > 0 && !spec.checkpoint.every_auto && every > steps) {
    warnings.push_back(
        {{"checkpoint.every", "budget.steps", "preset"},
         fmt::format("checkpoint.every {} is longer than the run of {} steps: only the "
                     "last step is saved",
                     WithThousands(every), WithThousands(steps)),
         ""});
  }
  WarnOfRecovery(spec, warnings);
  if (spec.resources.device == "auto") {
    for (const GpuSetting& setting : GpuSettingsOf(spec)) {
      warnings.push_back({{setting.key},
                          fmt::format("{}: {} needs a GPU: resources.device: auto waits for one",
                                      setting.key, setting.value),
                          setting.hint + " to allow CPUs"});
    }
  }
  if (!spec.train.empty() && spec.init_from == kFromScratch) {
    warnings.push_back({{"train", "init_from"},
                        "train freezes parts of a model that begins from scratch: they stay random",
                        "set init_from, or leave train out"});
  }
  if (spec.data.text.empty() && spec.data.val.empty()) {
    warnings.push_back(
        {{"data.train", "data.stream"},
         "there is no data.val: the run has no validation loss and no best checkpoint",
         ""});
  }
  return warnings;
}

}  // namespace gp::runspec
