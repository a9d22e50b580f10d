// A sweep of four trials with runs in chosen states, for tests of decisions about sweeps.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// Trial N is the run "tN".
inline SweepSpec FourTrials(EarlyStop early_stop = {}) {
  SweepSpec spec{.name = "s",
                 .run_namespace = "default",
                 .run_source = "name: base\n",
                 .body_digest = "body",
                 .max_parallel = 2,
                 .early_stop = std::move(early_stop),
                 .trials = {}};
  for (int number = 1; number <= 4; ++number) {
    SweepTrial trial{.run = RunId(fmt::format("t{}", number))};
    trial.submission.name = fmt::format("s-{}", number);
    trial.submission.request_id = fmt::format("request-{}", number);
    trial.submission.target_steps = 10;
    trial.submission.resolved = "name: s\nbudget:\n  steps: 10\n  tokens: 0\neval:\n  every: 5\n";
    trial.rung_tokens = {100, 200, 400};
    spec.trials.push_back(std::move(trial));
  }
  return spec;
}

inline EarlyStop Halving() { return {EarlyStopKind::kHalving, 10, 2, {10, 20, 40}}; }
inline EarlyStop MedianFrom(int64_t min_steps) {
  return {EarlyStopKind::kMedian, min_steps, 0, {}};
}

using StepLosses = std::vector<std::pair<int64_t, std::optional<double>>>;

// The run of a trial, with a checkpoint for each step and its validation loss.
inline Run TrialRun(const SweepTrial& trial, RunState state, const StepLosses& losses = {}) {
  Run run;
  run.id = trial.run;
  run.submission = std::make_shared<const Submission>(trial.submission);
  run.state = state;
  run.reason = "why";
  run.submitted_sequence = static_cast<uint64_t>(trial.run.value().back());
  for (const auto& [step, loss] : losses) {
    SealedCheckpoint sealed;
    sealed.step = step;
    sealed.directory = fmt::format("/runs/{}/{}", trial.run, step);
    sealed.validation_loss = loss;
    run.checkpoints.push_back(sealed);
  }
  return run;
}

inline constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

inline Event SubmitOf(SweepSpec spec, const std::string& request_id = "request") {
  return {.actor = "user alice",
          .request_id = request_id,
          .body = SweepSubmitted{std::make_shared<const SweepSpec>(std::move(spec))}};
}

}  // namespace gp::coordinator
