#include "runspec/parent_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/text/thousands.h"
#include "plan/batch_ramp.h"
#include "plan/model_part.h"
#include "runspec/batch_plan.h"
#include "runspec/schema.h"

namespace gp::runspec {
namespace {

using Problems = std::vector<CrossProblem>;

constexpr char kResetOptimizer[] = "init_optimizer: reset";
constexpr char kResetData[] = "init_data: reset";
constexpr std::string_view kPartSeparator = ", ";

std::string TextOf(const char* key, const RunSpec& spec) {
  return FormatValue(*FindField(key), spec);
}

void RefuseOptimizer(const std::string& key, const std::string& message, const std::string& hint,
                     Problems& problems) {
  problems.push_back({{key, "init_optimizer", "init_from"}, message, hint, "init_optimizer"});
}

void RefuseData(const std::string& key, const std::string& message, const std::string& hint,
                Problems& problems) {
  problems.push_back({{key, "init_data", "init_from"}, message, hint, "init_data"});
}

void RequireSize(const char* key, int64_t has, int64_t needs, const char* noun,
                 Problems& problems) {
  if (has == needs) return;
  RefuseOptimizer(key,
                  fmt::format("init_optimizer: keep needs the model of init_from as it is: {} "
                              "gives {} {}, the checkpoint has {}",
                              key, WithThousands(has), noun, WithThousands(needs)),
                  fmt::format("set {}: {}, or {}", key, needs, kResetOptimizer), problems);
}

int64_t PaddedVocabulary(const RunSpec& spec) {
  return (spec.model.vocabulary + spec.pad_vocab_to - 1) / spec.pad_vocab_to * spec.pad_vocab_to;
}

// Whether both lists of parts train the same tensors of this model.
bool TrainSame(const std::vector<std::string>& one, const std::vector<std::string>& other,
               RunSpec spec) {
  spec.learning_rates.clear();
  spec.train = one;
  const ParameterLayout first = MakeParameterLayout(spec.model, TrainedPartsOf(spec));
  spec.train = other;
  const ParameterLayout second = MakeParameterLayout(spec.model, TrainedPartsOf(spec));
  for (size_t i = 0; i < first.tensors.size(); ++i) {
    if (first.tensors[i].trained != second.tensors[i].trained) return false;
  }
  return true;
}

std::string PartsText(const std::vector<std::string>& parts) {
  return parts.empty() ? "all parts" : fmt::format("[{}]", fmt::join(parts, kPartSeparator));
}

void CheckOptimizer(const ParentState& parent, const RunSpec& spec, Problems& problems) {
  const std::string kind = TextOf("optimizer.kind", spec);
  if (parent.optimizer && *parent.optimizer != kind) {
    RefuseOptimizer(
        "optimizer.kind",
        fmt::format("init_optimizer: keep takes the state of {}, which made the "
                    "checkpoint in init_from, and optimizer.kind is {}",
                    *parent.optimizer, kind),
        fmt::format("set optimizer.kind: {}, or {}", *parent.optimizer, kResetOptimizer), problems);
  }
  RequireSize("model.n_ctx", spec.model.context, parent.shape.context, "positions", problems);
  if (!spec.vocabulary_auto) {
    RequireSize("model.vocab", spec.model.vocabulary, parent.shape.vocabulary, "ids", problems);
  }
  if (!spec.vocabulary_auto && spec.model.vocabulary == parent.shape.vocabulary) {
    RequireSize("model.pad_vocab_to", PaddedVocabulary(spec), parent.shape.vocabulary_padded,
                "rows of the embedding", problems);
  }
  if (!parent.trained || TrainSame(*parent.trained, spec.train, spec)) return;
  RefuseOptimizer("train",
                  fmt::format("init_optimizer: keep needs a state of every trained part: train has "
                              "{}, and the run of the checkpoint in init_from trained {}",
                              PartsText(spec.train), PartsText(*parent.trained)),
                  fmt::format("train the same parts, or set {}", kResetOptimizer), problems);
}

template <typename T>
void RequireSame(const char* key, const std::optional<T>& needs, const T& has, const char* why,
                 Problems& problems) {
  if (!needs || *needs == has) return;
  RefuseData(
      key,
      fmt::format("init_data: keep {}: {} is {}, the checkpoint in init_from was trained with {}",
                  why, key, has, *needs),
      fmt::format("set {}: {}, or {} to begin with the first batch", key, *needs, kResetData),
      problems);
}

// In random order every batch is drawn for itself. The other orders continue after the tokens that
// the earlier run has used, at a whole micro-batch.
void CheckTokens(const ParentState& parent, const RunSpec& spec, Problems& problems) {
  if (spec.data.order == BatchOrder::kRandom || spec.batch.micro_batch_auto) return;
  const int64_t granule = BatchGranule(spec);
  if (parent.tokens % granule == 0) return;
  RefuseData(
      "batch.micro_batch",
      fmt::format("init_data: keep with data.order: {} continues after the {} tokens that the "
                  "checkpoint in init_from has used, and these are not a multiple of {} = "
                  "{}",
                  TextOf("data.order", spec), WithThousands(parent.tokens), DescribeGranule(spec),
                  WithThousands(granule)),
      fmt::format("use the earlier run's batch.micro_batch, or set {}", kResetData), problems);
}

void CheckBudget(const ParentState& parent, const RunSpec& spec, Problems& problems) {
  const int64_t last = TargetSteps(spec, {.step = parent.step, .tokens = parent.tokens});
  if (last == 0 || last > parent.step) return;
  const bool by_tokens = spec.budget.tokens > 0 && spec.budget.steps != last;
  const char* const key = by_tokens ? "budget.tokens" : "budget.steps";
  RefuseData(
      key,
      fmt::format("no step is left: the run ends at step {}, and with init_data: keep it "
                  "begins after step {}, that of the checkpoint in init_from",
                  WithThousands(last), WithThousands(parent.step)),
      fmt::format("raise {}, which counts the earlier steps, too, or set {}", key, kResetData),
      problems);
}

void CheckData(const ParentState& parent, const RunSpec& spec, Problems& problems) {
  RequireSame("data.order", parent.order, TextOf("data.order", spec),
              "continues at a position in the order of the data", problems);
  if (spec.data.order == BatchOrder::kShuffled) {
    RequireSame("batch.sequence", parent.sequence, spec.batch.sequence,
                "continues at a position that counts sequences of one length", problems);
    RequireSame("seed", parent.seed, spec.seed, "continues at a position in the order of one seed",
                problems);
  }
  CheckTokens(parent, spec, problems);
  CheckBudget(parent, spec, problems);
}

}  // namespace

Problems CheckKept(const ParentState& parent, const RunSpec& spec) {
  Problems problems;
  const auto refuse = [&](const char* key, const char* what, const char* way) {
    problems.push_back({{key, "init_from"},
                        fmt::format("{}: keep takes over {}, and what init_from names {}", key,
                                    what, parent.refusal),
                        fmt::format("name a checkpoint of a run, or set {}", way),
                        "init_from"});
  };
  if (spec.KeepsOptimizer()) {
    if (!parent.refusal.empty()) {
      refuse("init_optimizer", "the optimizer's state", kResetOptimizer);
    } else {
      CheckOptimizer(parent, spec, problems);
    }
  }
  if (spec.KeepsData()) {
    if (!parent.refusal.empty()) {
      refuse("init_data", "the position in the data", kResetData);
    } else {
      CheckData(parent, spec, problems);
    }
  }
  return problems;
}

Problems KeptWarnings(const ParentState& parent, const RunSpec& spec) {
  Problems warnings;
  if (!parent.refusal.empty()) return warnings;
  const bool random = spec.data.order == BatchOrder::kRandom;
  if (spec.KeepsData() && parent.seed && *parent.seed != spec.seed) {
    warnings.push_back(
        {{"seed", "init_data"},
         fmt::format("seed is {}, the checkpoint in init_from was trained with {}: "
                     "from step {} on {}dropout follows the new seed",
                     spec.seed, *parent.seed, WithThousands(parent.step + 1),
                     random ? "the choice of batches and " : ""),
         fmt::format("set seed: {} to continue as the earlier run did", *parent.seed)});
  }
  const bool compares = spec.KeepsData() ? !parent.order || !parent.sequence || !parent.seed
                                         : spec.KeepsOptimizer() && !parent.trained;
  if (compares) {
    warnings.push_back(
        {{"init_from"},
         fmt::format("an older version of gp wrote the checkpoint in init_from: {} "
                     "of its run cannot be compared with this run's",
                     spec.KeepsData() ? "data.order, batch.sequence and seed" : "train"),
         "check that they are the same"});
  }
  return warnings;
}

std::string FormatTrained(const std::vector<std::string>& train) {
  return fmt::format("{}", fmt::join(train, kPartSeparator));
}

std::vector<std::string> ParseTrained(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(kPartSeparator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + kPartSeparator.size();
  }
  return parts;
}

}  // namespace gp::runspec
