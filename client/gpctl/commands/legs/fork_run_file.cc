#include "client/gpctl/commands/legs/fork_run_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/file.h"
#include "base/text/counted_noun.h"
#include "base/text/thousands.h"
#include "client/gpctl/commands/legs/amount.h"
#include "client/gpctl/render/leg_text.h"
#include "runspec/batch_plan.h"

namespace gp::gpctl {
namespace {

using runspec::RunSpec;

bool Sets(const std::vector<std::string>& overrides, std::string_view beginning) {
  return std::any_of(overrides.begin(), overrides.end(),
                     [&](const std::string& one) { return one.starts_with(beginning); });
}

StatusOr<RunSpec> ReadSpec(const RunFileText& file, const std::vector<std::string>& overrides) {
  auto result = runspec::LoadRunFile(file.text, file.name, overrides);
  for (ConfigProblem& problem : result.problems) {
    if (problem.source == "--set name") problem.source = "--name";
  }
  if (!result.spec) return ProblemsStatus(result);
  return *result.spec;
}

// A tokenizer that the parent took from a checkpoint may be gone; each checkpoint has its own copy.
std::string ParentsTokenizer(const ForkSource& source, const RunSpec& parent) {
  const bool of_checkpoint = parent.data.tokenizer.find("/checkpoints/") != std::string::npos;
  return of_checkpoint ? JoinPath(source.directory, "tokenizer.json") : parent.data.tokenizer;
}

std::string KeysText(const std::vector<std::string>& keys) {
  return fmt::format("{} change{}", fmt::join(keys, ", "), keys.size() == 1 ? "s" : "");
}

class ForkMaker {
 public:
  ForkMaker(const ForkSource& source, const ForkRequest& request, const std::string& command)
      : source_(source), request_(request), command_(command) {
    fork_.file = {source.run_file, "run file of " + source.text, ""};
  }

  StatusOr<ForkRunFile> Make() {
    RETURN_IF_ERROR(CheckOverrides());
    ASSIGN_OR_RETURN(fork_.parent, ReadSpec(fork_.file, {}));
    begin_ = {"init_from=" + source_.directory,
              std::string("init_optimizer=") + (request_.reset_optimizer ? "reset" : "keep"),
              "init_data=keep", "data.tokenizer=" + ParentsTokenizer(source_, fork_.parent)};
    // The first reading finds what changes; the second has what follows from that.
    fork_.start = {.step = source_.step, .tokens = source_.tokens};
    RETURN_IF_ERROR(Read());
    RETURN_IF_ERROR(CheckModel());
    RETURN_IF_ERROR(CheckOptimizer());
    ResetDataIfChanged();
    RETURN_IF_ERROR(Read());
    RETURN_IF_ERROR(CheckStepsLeft());
    return std::move(fork_);
  }

 private:
  Status CheckOverrides() const {
    if (!request_.steps.empty() && !request_.tokens.empty()) {
      return InvalidArgument("--steps and --tokens exclude each other");
    }
    if (!Sets(request_.overrides, "init_from=")) return OkStatus();
    return InvalidArgument(
        "--set init_from: the fork begins from {}; name another checkpoint instead of it",
        source_.text);
  }

  Status Read() {
    fork_.overrides = begin_;
    RETURN_IF_ERROR(AddBudget());
    FollowWorkers();
    fork_.overrides.insert(fork_.overrides.end(), request_.overrides.begin(),
                           request_.overrides.end());
    if (!request_.name.empty()) fork_.overrides.push_back("name=" + request_.name);
    ASSIGN_OR_RETURN(fork_.spec, ReadSpec(fork_.file, fork_.overrides));
    RETURN_IF_ERROR(KeepHorizon());
    fork_.changes = ChangesBetween(ResolvedYaml(fork_.parent), ResolvedYaml(fork_.spec));
    if (!Sets(request_.overrides, "data.tokenizer=")) {
      std::erase_if(fork_.changes, [](const auto& one) { return one.key == "data.tokenizer"; });
    }
    return OkStatus();
  }

  Status AddBudget() {
    const bool steps = !request_.steps.empty();
    if (!steps && request_.tokens.empty()) return OkStatus();
    ASSIGN_OR_RETURN(Amount amount, steps ? ParseAmount("--steps", request_.steps)
                                          : ParseAmount("--tokens", request_.tokens));
    if (amount.more) amount.value += steps ? fork_.start.step : fork_.start.tokens;
    fork_.overrides.push_back(fmt::format("budget.steps={}", steps ? amount.value : 0));
    fork_.overrides.push_back(fmt::format("budget.tokens={}", steps ? 0 : amount.value));
    if (fork_.parent.budget.wall_time.count() > 0) {
      fork_.overrides.emplace_back("budget.wall_time=0s");
    }
    return OkStatus();
  }

  // The resolved file has the limits that followed from the parent's number of ranks. The larger
  // one decides how sums are divided, so it stays if it can.
  void FollowWorkers() {
    const std::string key = "resources.workers=";
    for (const std::string& one : request_.overrides) {
      const int workers = one.starts_with(key) ? std::atoi(one.c_str() + key.size()) : 0;
      if (workers <= 0) continue;
      if (workers > fork_.parent.resources.max_workers) {
        fork_.overrides.emplace_back("resources.max_workers=0");
      }
      if (workers < fork_.parent.resources.min_workers) {
        fork_.overrides.emplace_back("resources.min_workers=0");
      }
    }
  }

  // The last step of the parent's leg; 0: unknown.
  int64_t ParentSteps() const {
    const int64_t planned = runspec::TargetSteps(fork_.parent, source_.start);
    return planned > 0 ? planned : source_.target_steps;
  }

  Status KeepHorizon() {
    const runspec::ScheduleSpec& schedule = fork_.parent.schedule;
    const bool given = schedule.decay_steps > 0 || schedule.decay_tokens > 0 ||
                       Sets(request_.overrides, "schedule.decay_");
    const bool new_budget =
        !request_.steps.empty() || !request_.tokens.empty() || Sets(request_.overrides, "budget.");
    if (given || !new_budget || !fork_.spec.KeepsData()) return OkStatus();
    const int64_t horizon = ParentSteps();
    if (horizon <= 0 || horizon == runspec::TargetSteps(fork_.spec, fork_.start)) return OkStatus();
    fork_.overrides.push_back(fmt::format("schedule.decay_steps={}", horizon));
    ASSIGN_OR_RETURN(fork_.spec, ReadSpec(fork_.file, fork_.overrides));
    return OkStatus();
  }

  // The keys that change and for which `is_meant` is true.
  template <typename Condition>
  std::vector<std::string> Changed(const Condition& is_meant) const {
    std::vector<std::string> keys;
    for (const client::KeyDifference& change : fork_.changes) {
      if (is_meant(change.key)) keys.push_back(change.key);
    }
    return keys;
  }

  Status CheckModel() const {
    std::string problems;
    for (const client::KeyDifference& change : fork_.changes) {
      if (!change.key.starts_with("model.") || change.key == "model.dropout") continue;
      problems += fmt::format("--set {}: the weights of {} have {} {}, not {}\n", change.key,
                              source_.text, change.key, change.values.at(0).value_or("none"),
                              change.values.at(1).value_or("none"));
    }
    if (problems.empty()) return OkStatus();
    return InvalidArgument(
        "{}a fork has the model of its checkpoint; another model is trained from scratch, with "
        "gpctl submit",
        problems);
  }

  Status CheckOptimizer() const {
    if (!fork_.spec.KeepsOptimizer()) return OkStatus();
    const auto keys = Changed([](const std::string& key) {
      return key == "optimizer.kind" || key == "train" || key.starts_with("train[");
    });
    if (keys.empty()) return OkStatus();
    return InvalidArgument(
        "--set {}: the optimizer's state in {} is that of {} {}; begin with a new one: "
        "--reset-optimizer",
        keys.front(), source_.text, keys.front(), ValueInParent(keys.front()));
  }

  std::string ValueInParent(const std::string& key) const {
    for (const client::KeyDifference& change : fork_.changes) {
      if (change.key == key) return change.values.at(0).value_or("none");
    }
    return "";
  }

  // A shuffled pass over the data is made of sequences.
  void ResetDataIfChanged() {
    const bool shuffled = fork_.spec.data.order == runspec::BatchOrder::kShuffled;
    const auto keys = Changed([&](const std::string& key) {
      const bool of_passes = shuffled && key == "batch.sequence";
      return key.starts_with("data.") || key == "seed" || of_passes;
    });
    if (request_.reset_data) {
      fork_.why_data_reset = "--reset-data";
    } else if (!fork_.spec.KeepsData()) {
      fork_.why_data_reset = "init_data: reset";
    } else if (!keys.empty() && !Sets(request_.overrides, "init_data=")) {
      fork_.why_data_reset = KeysText(keys);
    }
    if (fork_.why_data_reset.empty()) return;
    begin_[2] = "init_data=reset";
    fork_.start = {};
  }

  Status CheckStepsLeft() const {
    const int64_t target = runspec::TargetSteps(fork_.spec, fork_.start);
    if (target <= 0 || fork_.start.step < target) return OkStatus();
    const std::string used =
        fork_.spec.budget.tokens > 0
            ? fmt::format("{} tokens, and its budget is {}", WithThousands(fork_.start.tokens),
                          WithThousands(fork_.spec.budget.tokens))
            : fmt::format("step {}, and its budget is {}", WithThousands(fork_.start.step),
                          CountedNoun(target, "step"));
    const int64_t more = std::max<int64_t>(ParentSteps(), 1);
    return InvalidArgument(
        "{} is at {}: nothing is left to train; give the fork more: {} --steps +{}", source_.text,
        used, command_, more);
  }

  const ForkSource& source_;
  const ForkRequest& request_;
  const std::string& command_;
  std::vector<std::string> begin_;
  ForkRunFile fork_;
};

}  // namespace

StatusOr<ForkRunFile> MakeForkRunFile(const ForkSource& source, const ForkRequest& request,
                                      const std::string& command) {
  return ForkMaker(source, request, command).Make();
}

}  // namespace gp::gpctl
