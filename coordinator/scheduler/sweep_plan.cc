#include "coordinator/scheduler/sweep_plan.h"

#include <algorithm>

#include "base/text/counted_noun.h"
#include "coordinator/scheduler/early_stop.h"
#include "coordinator/scheduler/trial_budget.h"
#include "coordinator/state/queries/run_name.h"

namespace gp::coordinator {
namespace {

class SweepPlanner {
 public:
  SweepPlanner(const Cluster& cluster, const Sweep& sweep, Plan& plan)
      : cluster_(cluster), sweep_(sweep), spec_(*sweep.spec), plan_(plan) {
    results_.reserve(spec_.trials.size());
    for (const SweepTrial& trial : spec_.trials) results_.push_back(ResultOf(cluster, trial));
  }

  void Advance() {
    const size_t planned = plan_.size();
    if (sweep_.state == SweepState::kCancelling) {
      CancelTrials();
    } else {
      StopLosers();
      Continue();
    }
    if (plan_.size() == planned && Count(TrialState::kLive) == 0) End();
  }

 private:
  void CancelTrials() {
    for (size_t trial = 0; trial < results_.size(); ++trial) {
      Cancel(trial, fmt::format("its sweep '{}' was cancelled", spec_.name));
    }
  }

  void StopLosers() {
    for (size_t trial = 0; trial < results_.size(); ++trial) {
      const std::string why = WhyStopped(spec_.early_stop, results_, trial);
      if (!why.empty()) Cancel(trial, why);
    }
  }

  void Cancel(size_t trial, const std::string& why) {
    const TrialResult& result = results_[trial];
    if (result.state != TrialState::kLive) return;
    const RunState state = result.run->state;
    const bool leaves = state == RunState::kCancelling || state == RunState::kFinishing ||
                        !IsAllowed(state, RunState::kCancelling);
    if (!leaves) Add(trial, CancelRequested{.reason = why}, "sweep " + spec_.name);
  }

  // Fills the free places: first with new trials, so that winners are chosen among as many as
  // possible, then with trials that train on.
  void Continue() {
    int free = spec_.max_parallel - Count(TrialState::kLive);
    for (size_t trial = 0; trial < results_.size() && free > 0; ++trial) {
      if (results_[trial].state != TrialState::kWaiting) continue;
      Submit(trial);
      --free;
    }
    for (const Promotion& promotion : Promotions(spec_.early_stop, results_)) {
      if (free-- <= 0) return;
      Promote(promotion);
    }
  }

  void Promote(const Promotion& promotion) {
    const SweepTrial& trial = spec_.trials[promotion.trial];
    LegRequested leg{.submission = WithBudgetOfRung(spec_, trial, promotion.rung)};
    leg.submission.name = NameOf(promotion.trial);
    leg.submission.labels = results_[promotion.trial].run->submission->labels;
    leg.why = fmt::format("rung {} of its sweep: extended to {}", promotion.rung + 1,
                          CountedNoun(leg.submission.target_steps, "step"));
    Add(promotion.trial, std::move(leg), "sweep " + spec_.name);
  }

  void Submit(size_t trial) {
    RunSubmitted submitted{spec_.trials[trial].submission};
    submitted.submission.source = spec_.run_source;
    submitted.submission.name = NameOf(trial);
    Add(trial, std::move(submitted), sweep_.submitted_by);
  }

  // Another run may have taken the trial's name; then it gets a number.
  std::string NameOf(size_t trial) const {
    return FreeRunName(cluster_, spec_.run_namespace, spec_.trials[trial].submission.name);
  }

  void End() {
    const auto with_loss = std::ranges::count_if(
        results_, [](const TrialResult& result) { return result.best.has_value(); });
    if (sweep_.state == SweepState::kCancelling) {
      return End(SweepState::kCancelled,
                 fmt::format("cancelled; {} a validation loss", Have(with_loss)));
    }
    if (with_loss == 0) return End(SweepState::kFailed, WhyFailed());
    const int failed = Count(TrialState::kFailed);
    const auto diverged = std::ranges::count_if(results_, &TrialResult::diverged);
    std::string reason = fmt::format("{} a validation loss", Have(with_loss));
    if (const int stopped = Count(TrialState::kStopped)) {
      reason += fmt::format(", {} stopped early", stopped);
    }
    if (failed > 0) reason += fmt::format(", {} failed", failed);
    if (diverged > 0) reason += fmt::format(", {} diverged", diverged);
    End(SweepState::kSucceeded, reason);
  }

  void End(SweepState state, const std::string& reason) {
    plan_.push_back({RunId(), SweepEnded{spec_.id(), state, reason}, "scheduler"});
  }

  // "11 of 12 trials have".
  std::string Have(ptrdiff_t count) const {
    return fmt::format("{} of {} {}", count, CountedNoun(results_.size(), "trial"),
                       count == 1 ? "has" : "have");
  }

  std::string WhyFailed() const {
    std::string reason =
        fmt::format("no trial has a finite validation loss: of {}, {} failed and {} diverged",
                    CountedNoun(results_.size(), "trial"), Count(TrialState::kFailed),
                    std::ranges::count_if(results_, &TrialResult::diverged));
    for (size_t trial = 0; trial < results_.size(); ++trial) {
      const TrialResult& result = results_[trial];
      if (result.state != TrialState::kFailed || result.run == nullptr) continue;
      return reason + fmt::format("; trial {}: {}", trial + 1, result.run->reason);
    }
    return reason;
  }

  int Count(TrialState state) const {
    return static_cast<int>(std::ranges::count(results_, state, &TrialResult::state));
  }

  void Add(size_t trial, EventBody body, std::string actor) {
    plan_.push_back({spec_.trials[trial].run, std::move(body), std::move(actor)});
  }

  const Cluster& cluster_;
  const Sweep& sweep_;
  const SweepSpec& spec_;
  Plan& plan_;
  TrialResults results_;
};

}  // namespace

void PlanSweeps(const Cluster& cluster, Plan& plan) {
  for (const auto& [sequence, id] : cluster.live_sweeps) {
    SweepPlanner(cluster, *cluster.FindSweep(id), plan).Advance();
  }
}

}  // namespace gp::coordinator
