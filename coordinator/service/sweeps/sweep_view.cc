#include "coordinator/service/sweeps/sweep_view.h"

#include "coordinator/scheduler/trial_result.h"
#include "rpc/timestamp.h"

namespace gp::coordinator {
namespace {

const char* Name(EarlyStopKind kind) {
  switch (kind) {
    case EarlyStopKind::kNone:
      return "none";
    case EarlyStopKind::kMedian:
      return "median";
    case EarlyStopKind::kHalving:
      return "halving";
  }
  return "";
}

bool HasEnded(TrialState state) {
  return state != TrialState::kWaiting && state != TrialState::kLive;
}

void FillRun(const Run& run, const Progress& progress, v1::SweepTrial& to) {
  to.set_run_id(run.id.value());
  to.set_run_name(run.submission->name);
  to.set_run_state(static_cast<v1::RunState>(run.state));
  to.set_reason(run.reason);
  to.set_target_steps(run.submission->target_steps);
  if (progress.newest) to.set_step(progress.newest->step);
}

}  // namespace

v1::Sweep ToProto(const Cluster& cluster, const Sweep& sweep) {
  const SweepSpec& spec = *sweep.spec;
  v1::Sweep to;
  to.set_name(spec.name);
  to.set_namespace_(spec.run_namespace);
  to.set_state(static_cast<v1::SweepState>(sweep.state));
  to.set_reason(sweep.reason);
  to.set_submitted_by(sweep.submitted_by);
  *to.mutable_submitted_at() = rpc::ToTimestamp(sweep.submitted_at.time_since_epoch().count());
  if (sweep.ended_at)
    *to.mutable_ended_at() = rpc::ToTimestamp(sweep.ended_at->time_since_epoch().count());
  to.set_max_parallel(spec.max_parallel);
  to.set_early_stop(Name(spec.early_stop.kind));
  to.set_min_steps(spec.early_stop.min_steps);
  to.set_eta(spec.early_stop.eta);
  to.mutable_rungs()->Assign(spec.early_stop.rungs.begin(), spec.early_stop.rungs.end());
  to.set_trial_count(static_cast<int>(spec.trials.size()));
  int ended = 0;
  for (const SweepTrial& trial : spec.trials) {
    if (HasEnded(ResultOf(cluster, trial).state)) ++ended;
  }
  to.set_ended_trials(ended);
  return to;
}

void AddTrials(const Cluster& cluster, const Sweep& sweep, const ProgressOf& progress,
               v1::Sweep& to) {
  const SweepSpec& spec = *sweep.spec;
  to.set_source(spec.source);
  for (size_t index = 0; index < spec.trials.size(); ++index) {
    const SweepTrial& trial = spec.trials[index];
    const TrialResult result = ResultOf(cluster, trial);
    v1::SweepTrial& added = *to.add_trials();
    added.set_number(static_cast<int>(index + 1));
    added.mutable_keys()->insert(trial.keys.begin(), trial.keys.end());
    added.set_state(static_cast<v1::TrialState>(result.state));
    if (result.run != nullptr) FillRun(*result.run, progress(trial.run), added);
    if (result.best) {
      added.set_validation_loss(result.best->loss);
      added.set_validation_step(result.best->step);
    }
    added.set_diverged(result.diverged);
    const std::vector<int64_t>& rungs = spec.early_stop.rungs;
    added.set_full_steps(rungs.empty() ? trial.submission.target_steps : rungs.back());
  }
}

}  // namespace gp::coordinator
