#include "coordinator/service/continuation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text/counted_noun.h"
#include "coordinator/checkpoints/parent_checkpoint.h"
#include "coordinator/service/submission.h"
#include "formats/sha256.h"
#include "plan/batch_ramp.h"
#include "runspec/batch_plan.h"
#include "runspec/run_file.h"
#include "runspec/schema.h"

namespace gp::coordinator {
namespace {

// Another leg may change these keys, and keys below them.
constexpr std::array<std::string_view, 9> kLegKeys = {
    "batch.micro_batch", "checkpoint", "eval",     "priority", "resources",
    "retries",           "sample",     "schedule", "stability"};

bool IsKeyOrBelow(std::string_view key, std::string_view of) {
  return key.starts_with(of) && (key.size() == of.size() || key[of.size()] == '.');
}

Status CheckKey(const std::string& assignment, const Run& run) {
  const std::string key = assignment.substr(0, assignment.find('='));
  const bool allowed = std::any_of(kLegKeys.begin(), kLegKeys.end(),
                                   [&](std::string_view of) { return IsKeyOrBelow(key, of); });
  if (allowed) return OkStatus();
  if (IsKeyOrBelow(key, "budget")) {
    return InvalidArgument("{}: say how long to train, with steps or tokens", key);
  }
  return InvalidArgument(
      "{}: a continued run may change only {}; for any other key make a new run from its "
      "checkpoint: gpctl fork {} --set {}",
      key, fmt::join(kLegKeys, ", "), run.submission->name, assignment);
}

Status CheckRequest(const v1::ContinueRequest& request, const Run& run) {
  RETURN_IF_ERROR(CheckRequestId(request.request_id(), "leg"));
  RETURN_IF_ERROR(CheckOverrides(request.overrides()));
  for (const std::string& assignment : request.overrides()) {
    RETURN_IF_ERROR(CheckKey(assignment, run));
  }
  if (request.has_from_step() && request.from_step() < -1) {
    return InvalidArgument("from_step: there is no step {}", request.from_step());
  }
  return OkStatus();
}

bool SetsDecay(const v1::ContinueRequest& request) {
  return std::any_of(request.overrides().begin(), request.overrides().end(),
                     [](const std::string& one) { return one.starts_with("schedule.decay_"); });
}

// The largest budget that a run file may have.
int64_t LargestOf(const char* key) { return static_cast<int64_t>(runspec::FindField(key)->max); }

StatusOr<int64_t> Positive(const char* what, int64_t value) {
  if (value > 0) return value;
  return InvalidArgument("{}: {} is not a number of 1 or more", what, value);
}

// `key`: of the run file, which limits the sum.
StatusOr<int64_t> Added(const char* what, int64_t value, int64_t to, const char* key) {
  ASSIGN_OR_RETURN(const int64_t more, Positive(what, value));
  const int64_t max = LargestOf(key);
  if (more <= max - to) return to + more;
  return InvalidArgument("{}: {} is too large: with the {} so far, {} may be at most {}", what,
                         more, to, key, max);
}

// Makes the assignments of the run file that another leg needs.
class LegAssignments {
 public:
  LegAssignments(const v1::ContinueRequest& request, const Run& run, const Progress& progress)
      : request_(request), submission_(*run.submission) {
    if (progress.newest) steps_ = progress.newest->target_steps;
    if (steps_ <= 0) steps_ = submission_.target_steps;
  }

  StatusOr<std::vector<std::string>> Make(const runspec::RunSpec& spec) {
    if (request_.budget_case() != v1::ContinueRequest::BUDGET_NOT_SET) {
      RETURN_IF_ERROR(SetBudget(spec));
      KeepHorizon(spec);
    }
    made_.insert(made_.end(), request_.overrides().begin(), request_.overrides().end());
    return std::move(made_);
  }

  // The request's budget in tokens, with what is added to; 0: it has none.
  int64_t tokens() const { return tokens_; }

 private:
  Status SetBudget(const runspec::RunSpec& spec) {
    int64_t steps = 0;
    int64_t tokens = 0;
    switch (request_.budget_case()) {
      case v1::ContinueRequest::kSteps: {
        ASSIGN_OR_RETURN(steps, Positive("steps", request_.steps()));
        break;
      }
      case v1::ContinueRequest::kMoreSteps: {
        ASSIGN_OR_RETURN(steps, Added("more_steps", request_.more_steps(), steps_, "budget.steps"));
        break;
      }
      case v1::ContinueRequest::kTokens: {
        ASSIGN_OR_RETURN(tokens, Positive("tokens", request_.tokens()));
        break;
      }
      default: {
        ASSIGN_OR_RETURN(tokens, Added("more_tokens", request_.more_tokens(),
                                       submission_.target_tokens, "budget.tokens"));
      }
    }
    made_.push_back(fmt::format("budget.steps={}", steps));
    made_.push_back(fmt::format("budget.tokens={}", tokens));
    tokens_ = tokens;
    if (spec.budget.wall_time.count() > 0) made_.push_back("budget.wall_time=0s");
    return OkStatus();
  }

  void KeepHorizon(const runspec::RunSpec& spec) {
    const bool given = spec.schedule.decay_steps > 0 || spec.schedule.decay_tokens > 0;
    if (given || SetsDecay(request_) || steps_ <= 0) return;
    made_.push_back(fmt::format("schedule.decay_steps={}", steps_));
  }

  const v1::ContinueRequest& request_;
  const Submission& submission_;
  int64_t steps_ = 0;  // the newest leg's last step; 0: unknown
  int64_t tokens_ = 0;
  std::vector<std::string> made_;
};

// What identifies the run stays; what it trains comes from the new run file.
void KeepIdentity(const Submission& old, Submission& next) {
  next.name = old.name;
  next.source = old.source;
  next.run_namespace = old.run_namespace;
  next.labels = old.labels;
  next.run_directory = old.run_directory;
  next.of_owner = old.of_owner;
  next.data_seen = old.data_seen;
  next.parent_run = old.parent_run;
  next.parent_leg = old.parent_leg;
  next.parent_step = old.parent_step;
  next.parent_tokens = old.parent_tokens;
}

// The step that the leg begins from; for a run that trains, at least its newest step.
int64_t FirstStep(const v1::ContinueRequest& request, const Run& run, const Progress& progress) {
  if (request.has_from_step()) return request.from_step();
  const SealedCheckpoint* latest = run.LatestCheckpoint();
  const int64_t sealed = latest == nullptr ? -1 : latest->step;
  return run.holds_slots && progress.newest ? std::max(sealed, progress.newest->step) : sealed;
}

// The tokens that the step after `step` takes; 0: unknown.
int64_t TokensOfStep(const Submission& next, int64_t step) {
  const auto file = runspec::LoadRunFile(next.resolved, next.name);
  if (!file.spec) return 0;
  const auto plan = runspec::PlanBatch(*file.spec);
  return plan.ok() ? runspec::TokensAt(*plan, step) : 0;
}

// Says what a budget in tokens became: only whole steps are trained.
void WarnOfWholeSteps(const Submission& next, int64_t tokens, std::vector<std::string>& warnings) {
  if (tokens == 0 || tokens == next.target_tokens) return;
  warnings.push_back(fmt::format(
      "only whole steps are trained: of {} tokens the run takes {}, which end at step {}", tokens,
      next.target_tokens, next.target_steps));
}

// An early stop ends a run before its last step, so it may continue unchanged.
// `tokens`: as LegAssignments::tokens.
Status CheckStepsLeft(const Submission& next, int64_t first_step, int64_t tokens) {
  if (next.target_steps <= 0 || first_step < next.target_steps) return OkStatus();
  const int64_t step_tokens = TokensOfStep(next, first_step);
  if (tokens > next.target_tokens && tokens - next.target_tokens < step_tokens) {
    return FailedPrecondition(
        "run '{0}' is at step {1}, and {2} tokens end before step {3}: a step takes {4} tokens; "
        "give it at least one step more: gpctl extend {0} --tokens +{4}",
        next.name, first_step, tokens, first_step + 1, step_tokens);
  }
  return FailedPrecondition(
      "run '{0}' is at step {1}, and its budget is {2}; give it more: gpctl extend {0} --steps +N",
      next.name, first_step, CountedNoun(next.target_steps, "step"));
}

Status CheckChange(const v1::ContinueRequest& request, const Run& run, const Submission& next) {
  const bool changes = next.resolved != run.submission->resolved || request.has_from_step();
  if (changes || IsTerminal(run.state)) return OkStatus();
  return FailedPrecondition("run '{}' is {}; there is nothing to change", next.name,
                            Name(run.state));
}

std::string WhyBegun(const v1::ContinueRequest& request, const Run& run, const Submission& next) {
  if (request.has_from_step() && request.from_step() < 0) return "restarted from the start";
  if (request.has_from_step()) return fmt::format("restarted from step {}", request.from_step());
  if (request.budget_case() != v1::ContinueRequest::BUDGET_NOT_SET) {
    return fmt::format("extended to {}", CountedNoun(next.target_steps, "step"));
  }
  if (run.state == RunState::kFailed) return "retried";
  return IsTerminal(run.state) ? "resumed" : "changed";
}

}  // namespace

std::string BodyDigest(const v1::ContinueRequest& request) {
  v1::ContinueRequest body = request;
  body.clear_request_id();
  // A request id counts within its run, which has a name and an id.
  body.clear_run();
  body.clear_dry_run();
  // The message has no maps, so equal messages have equal bytes.
  return formats::Sha256Hex(body.SerializeAsString());
}

StatusOr<PreparedLeg> PrepareLeg(const v1::ContinueRequest& request, const Run& run,
                                 const Progress& progress, const RunFileResolver& resolver) {
  RETURN_IF_ERROR(CheckRequest(request, run));
  const Submission& old = *run.submission;
  const std::string file = fmt::format("run file of {}", old.name);
  const auto spec = runspec::LoadRunFile(old.resolved, file);
  if (!spec.spec) return InvalidArgument("{}", RenderProblems(spec.problems));
  if (request.has_from_step()) {
    const std::string refusal = LegRefusal(run, request.from_step());
    if (!refusal.empty()) return FailedPrecondition("run '{}': {}", old.name, refusal);
  }
  LegAssignments making(request, run, progress);
  ASSIGN_OR_RETURN(std::vector<std::string> assignments, making.Make(*spec.spec));
  const auto same_name = [&](const std::string&, const std::string&) { return old.name; };
  const auto same_start = [&](const std::string&) { return StartOf(old); };
  ASSIGN_OR_RETURN(
      ResolvedRun resolved,
      resolver.Resolve(
          {{old.resolved, file, ""}, std::move(assignments), old.name, same_name, same_start}));
  Submission& next = resolved.submission;
  KeepIdentity(old, next);
  const int64_t first_step = std::max(FirstStep(request, run, progress), StartOf(old).step);
  RETURN_IF_ERROR(CheckStepsLeft(next, first_step, making.tokens()));
  RETURN_IF_ERROR(CheckChange(request, run, next));
  PreparedLeg prepared{.warnings = std::move(resolved.warnings)};
  WarnOfWholeSteps(next, making.tokens(), prepared.warnings);
  LegRequested leg{.why = WhyBegun(request, run, next), .body_digest = BodyDigest(request)};
  if (request.has_from_step()) leg.first_step = request.from_step();
  leg.submission = std::move(next);
  prepared.event = {.run = run.id, .request_id = request.request_id(), .body = std::move(leg)};
  return prepared;
}

}  // namespace gp::coordinator
