#include "coordinator/service/sweeps/sweep_submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/random_id.h"
#include "coordinator/access/role.h"
#include "coordinator/checkpoints/parent_checkpoint.h"
#include "coordinator/service/submission.h"
#include "coordinator/state/initial_model.h"
#include "formats/sha256.h"
#include "plan/batch_ramp.h"
#include "runspec/batch_plan.h"
#include "runspec/run_file.h"
#include "runspec/sweep/sweep_file.h"
#include "runspec/sweep/sweep_trials.h"

namespace gp::coordinator {
namespace {

constexpr size_t kSweepFileBytesMax = 256 << 10;
constexpr size_t kSweepBytesMax = 64 << 20;  // of the run files of all trials
constexpr size_t kRequestIdBytes = 16;
// Trials whose problems are listed; the others probably have the same ones.
constexpr size_t kRefusedTrialsMax = 5;

// "optimizer.lr=1e-3, seed=2"
std::string Text(const runspec::TrialSettings& settings) {
  std::string text;
  for (const auto& [key, value] : settings) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, value);
  }
  return text;
}

// Budgets grow by `eta` from `min_steps` up to the whole budget.
std::vector<int64_t> RungsOf(const runspec::SweepFile& file, int64_t whole) {
  std::vector<int64_t> rungs;
  for (int64_t steps = file.min_steps; steps < whole; steps *= file.eta) rungs.push_back(steps);
  rungs.push_back(whole);
  return rungs;
}

bool HasValidation(const runspec::DataSpec& data) {
  return !data.val.empty() || (!data.text.empty() && data.val_fraction > 0);
}

// How many trials train up to the last rung, if none fails.
size_t FinalistsOf(size_t trials, const EarlyStop& early_stop) {
  for (size_t rung = 1; rung < early_stop.rungs.size(); ++rung) {
    trials /= static_cast<size_t>(early_stop.eta);
  }
  return trials;
}

class SweepPreparer {
 public:
  SweepPreparer(const v1::SubmitSweepRequest& request, bool of_owner, const Cluster& cluster,
                const SubmissionContext& context)
      : request_(request), of_owner_(of_owner), cluster_(cluster), context_(context) {}

  StatusOr<PreparedSweep> Prepare() {
    RETURN_IF_ERROR(ReadFile());
    const std::vector<runspec::TrialSettings> trials = runspec::ExpandTrials(file_);
    RETURN_IF_ERROR(CheckSize(run_text_.size() * trials.size()));
    RETURN_IF_ERROR(CheckTrials(trials));
    RETURN_IF_ERROR(CheckValidation());
    RETURN_IF_ERROR(CheckBudgets());
    RETURN_IF_ERROR(PlanEarlyStop(trials));
    SweepSpec& spec = prepared_.spec;
    spec.name = file_.name;
    spec.source = request_.source();
    spec.run_source =
        run_text_.substr(std::min(run_text_.find_first_not_of('\n'), run_text_.size()));
    spec.body_digest = BodyDigest(request_);
    spec.max_parallel = file_.max_parallel;
    for (size_t index = 0; index < trials.size(); ++index) {
      RETURN_IF_ERROR(WithContext(PrepareTrial(index, trials[index]),
                                  fmt::format("trial {} ({})", index + 1, Text(trials[index]))));
    }
    prepared_.warnings = {warnings_.begin(), warnings_.end()};
    return std::move(prepared_);
  }

 private:
  std::string SourceName() const {
    return request_.source_name().empty() ? "sweep file" : request_.source_name();
  }

  Status ReadFile() {
    RETURN_IF_ERROR(CheckRequestId(request_.request_id(), "sweep"));
    RETURN_IF_ERROR(CheckOverrides(request_.overrides()));
    if (request_.source().size() > kSweepFileBytesMax) {
      return InvalidArgument("the sweep file has {} bytes; at most {} are read",
                             request_.source().size(), kSweepFileBytesMax);
    }
    auto result = runspec::ReadSweepFile(request_.source(), SourceName());
    if (!result.file) return InvalidArgument("{}", RenderProblems(result.problems));
    file_ = *std::move(result.file);
    if (!request_.name().empty()) file_.name = request_.name();
    run_text_ = file_.run_text;
    run_name_ = SourceName();
    if (!file_.run_path.empty()) {
      if (request_.run_source().empty()) {
        return InvalidArgument("the run file '{}' is empty", file_.run_path);
      }
      run_text_ = request_.run_source();
      run_name_ = request_.run_source_name();
    }
    return OkStatus();
  }

  std::vector<std::string> OverridesOf(size_t index, const runspec::TrialSettings& settings) const {
    std::vector<std::string> overrides = {fmt::format("name={}-{}", file_.name, index + 1)};
    if (!request_.namespace_().empty()) overrides.push_back("namespace=" + request_.namespace_());
    overrides.insert(overrides.end(), request_.overrides().begin(), request_.overrides().end());
    for (const auto& [key, value] : settings) overrides.push_back(key + "=" + value);
    return overrides;
  }

  // Where each override is from: the sweep file's line of the key. Empty for --set.
  std::vector<std::string> SourcesOf(const runspec::TrialSettings& settings) const {
    std::vector<std::string> sources(request_.namespace_().empty() ? 1 : 2, SourceName());
    sources.resize(sources.size() + static_cast<size_t>(request_.overrides_size()));
    for (const auto& [key, value] : settings) {
      int line = 0;
      for (const auto* keys : {&file_.grid, &file_.random}) {
        for (const runspec::SweptKey& swept : *keys) {
          if (swept.path == key) line = swept.line;
        }
      }
      sources.push_back(line == 0 ? SourceName() : fmt::format("{}:{}", SourceName(), line));
    }
    return sources;
  }

  // The sweep is one record of the store.
  Status CheckSize(size_t bytes) const {
    if (bytes <= kSweepBytesMax) return OkStatus();
    return InvalidArgument(
        "{}: the run files of the trials have more than {} MiB in all; give fewer trials, or a "
        "shorter run file",
        SourceName(), kSweepBytesMax >> 20);
  }

  // Losses are compared after equal budgets.
  Status CheckBudgets() const {
    for (const runspec::RunSpec& spec : specs_) {
      if (spec.budget.wall_time.count() == 0 && spec.eval.patience == 0) continue;
      return InvalidArgument(
          "{}: trials with budget.wall_time or eval.patience end after different numbers of steps, "
          "and their losses cannot be ranked; set budget.steps or budget.tokens",
          SourceName());
    }
    return OkStatus();
  }

  // Problems that depend on several keys, such as a head count that does not divide the channels.
  Status CheckTrials(const std::vector<runspec::TrialSettings>& trials) {
    std::string problems;
    size_t refused = 0;
    for (size_t index = 0; index < trials.size() && refused < kRefusedTrialsMax; ++index) {
      auto result = runspec::LoadRunFile(run_text_, run_name_, OverridesOf(index, trials[index]),
                                         {.override_sources = SourcesOf(trials[index])});
      if (result.spec) {
        specs_.push_back(*std::move(result.spec));
      } else {
        problems += fmt::format("trial {} ({}):\n{}", index + 1, Text(trials[index]),
                                RenderProblems(result.problems));
        ++refused;
      }
    }
    if (refused == 0) return OkStatus();
    if (refused == kRefusedTrialsMax) {
      problems += fmt::format("(after {} refused trials the others were not checked)\n", refused);
    }
    return InvalidArgument("{}", problems);
  }

  Status CheckValidation() const {
    const bool measured = std::ranges::all_of(
        specs_, [](const runspec::RunSpec& spec) { return HasValidation(spec.data); });
    if (measured) return OkStatus();
    return InvalidArgument(
        "{}: a sweep ranks its trials by val_loss, and they have no validation data; set data.val, "
        "or data.val_fraction above 0",
        run_name_);
  }

  Status PlanEarlyStop(const std::vector<runspec::TrialSettings>& trials) {
    EarlyStop& early_stop = prepared_.spec.early_stop;
    early_stop.min_steps = file_.min_steps;
    if (file_.early_stop == "median") {
      early_stop.kind = EarlyStopKind::kMedian;
      return CheckMedian();
    }
    if (file_.early_stop != "halving") return OkStatus();
    early_stop.kind = EarlyStopKind::kHalving;
    early_stop.eta = file_.eta;
    const int64_t whole = runspec::TargetSteps(specs_.front());
    if (whole <= file_.min_steps) {
      return InvalidArgument(
          "{}: early_stop: halving divides the budget into rungs, so the run file needs "
          "budget.steps or budget.tokens, of more than min_steps ({})",
          SourceName(), file_.min_steps);
    }
    const bool equal = std::ranges::all_of(
        specs_, [&](const runspec::RunSpec& spec) { return runspec::TargetSteps(spec) == whole; });
    if (!equal) {
      return InvalidArgument(
          "{}: early_stop: the trials' budgets are of different numbers of steps, because a varied "
          "key changes the tokens of a step; set budget.steps, or stop early by median",
          SourceName());
    }
    early_stop.rungs = RungsOf(file_, whole);
    if (FinalistsOf(trials.size(), early_stop) > 0) return OkStatus();
    return InvalidArgument(
        "{}: early_stop: of {} trials the best 1 of {} go on at each of {} rungs, so none reaches "
        "the last one; lower eta, raise min_steps, or add trials",
        SourceName(), trials.size(), file_.eta, early_stop.rungs.size() - 1);
  }

  // The median rule reads the losses of checkpoints, which alone are durable.
  Status CheckMedian() const {
    for (const runspec::RunSpec& spec : specs_) {
      const int64_t every = spec.eval.every_steps;
      const int64_t saved = spec.checkpoint.every_steps;
      const bool together = every > 0 && saved > 0 && !spec.checkpoint.every_auto;
      if (together && saved % every == 0) continue;
      return InvalidArgument(
          "{}: early_stop: the median rule compares the validation losses of checkpoints; set "
          "eval.every, and checkpoint.every to a multiple of it",
          SourceName());
    }
    return OkStatus();
  }

  std::vector<std::string> BudgetOfFirstRung(const runspec::RunSpec& spec) const {
    const std::vector<int64_t>& rungs = prepared_.spec.early_stop.rungs;
    if (rungs.empty()) return {};
    std::vector<std::string> overrides = {fmt::format("budget.steps={}", rungs.front()),
                                          "budget.tokens=0"};
    // The schedule is that of the whole budget.
    const bool given = spec.schedule.decay_steps > 0 || spec.schedule.decay_tokens > 0;
    if (!given) overrides.push_back(fmt::format("schedule.decay_steps={}", rungs.back()));
    return overrides;
  }

  Status PrepareTrial(size_t index, const runspec::TrialSettings& settings) {
    v1::SubmitRequest request;
    const std::string request_id = RandomHex(kRequestIdBytes);
    request.set_request_id(request_id);
    request.set_source(run_text_);
    request.set_source_name(run_name_);
    request.set_base_directory(request_.base_directory());
    for (std::string& text : OverridesOf(index, settings)) request.add_overrides(std::move(text));
    for (std::string& text : BudgetOfFirstRung(specs_[index])) {
      request.add_overrides(std::move(text));
    }
    ASSIGN_OR_RETURN(PreparedSubmit submit,
                     PrepareSubmit(request, of_owner_, context_.resolver, context_.storage,
                                   cluster_, context_.store));
    SweepTrial trial{.run = submit.event.run, .keys = {settings.begin(), settings.end()}};
    trial.submission = std::get<RunSubmitted>(std::move(submit.event.body)).submission;
    trial.submission.name = fmt::format("{}-{}", file_.name, index + 1);
    trial.submission.source.clear();
    AddLabels(index, settings, trial.submission);
    AddRungs(specs_[index], trial);
    warnings_.insert(submit.warnings.begin(), submit.warnings.end());
    for (runspec::NamedFile& file : submit.files) AddFile(std::move(file));
    return SetNamespace(trial.submission.run_namespace) ? AddTrial(std::move(trial))
                                                        : OtherNamespace();
  }

  void AddLabels(size_t index, const runspec::TrialSettings& settings,
                 Submission& submission) const {
    submission.labels["sweep"] = file_.name;
    submission.labels["trial"] = fmt::to_string(index + 1);
    for (const auto& [key, value] : settings) submission.labels[key] = value;
  }

  void AddRungs(const runspec::RunSpec& spec, SweepTrial& trial) const {
    const runspec::TrainingStart start = StartOf(trial.submission);
    for (const int64_t steps : prepared_.spec.early_stop.rungs) {
      trial.rung_tokens.push_back(
          runspec::TokensBefore(runspec::PlanBatch(spec).value(), steps, start));
    }
  }

  void AddFile(runspec::NamedFile file) {
    if (!seen_.insert({file.key, file.path}).second) return;
    prepared_.files.push_back(std::move(file));
  }

  // False when an earlier trial is in another one.
  bool SetNamespace(const std::string& name) {
    std::string& of_sweep = prepared_.spec.run_namespace;
    const std::string known = name.empty() ? kDefaultNamespace : name;
    if (of_sweep.empty()) of_sweep = known;
    return of_sweep == known;
  }

  Status AddTrial(SweepTrial trial) {
    bytes_ += trial.submission.resolved.size();
    for (const auto& [key, value] : trial.submission.labels) bytes_ += key.size() + value.size();
    RETURN_IF_ERROR(CheckSize(bytes_));
    prepared_.spec.trials.push_back(std::move(trial));
    return OkStatus();
  }

  static Status OtherNamespace() { return InvalidArgument("it is in another namespace"); }

  const v1::SubmitSweepRequest& request_;
  const bool of_owner_;
  const Cluster& cluster_;
  const SubmissionContext& context_;
  runspec::SweepFile file_;
  std::string run_text_;
  std::string run_name_;
  std::vector<runspec::RunSpec> specs_;  // by trial, with its whole budget
  std::set<std::string> warnings_;
  std::set<std::pair<std::string, std::string>> seen_;
  size_t bytes_ = 0;  // of the prepared trials' texts
  PreparedSweep prepared_;
};

}  // namespace

StatusOr<PreparedSweep> PrepareSweep(const v1::SubmitSweepRequest& request, bool of_owner,
                                     const Cluster& cluster, const SubmissionContext& context) {
  return SweepPreparer(request, of_owner, cluster, context).Prepare();
}

std::string BodyDigest(const v1::SubmitSweepRequest& request) {
  v1::SubmitSweepRequest body = request;
  body.clear_request_id();
  body.clear_source_name();
  body.clear_run_source_name();
  // The message has no maps, so equal messages have equal bytes.
  return formats::Sha256Hex(body.SerializeAsString());
}

}  // namespace gp::coordinator
