#include "coordinator/scheduler/progress.h"

#include <algorithm>

#include "coordinator/scheduler/liveness.h"
#include "coordinator/scheduler/recovery.h"
#include "coordinator/scheduler/sealing.h"
#include "coordinator/scheduler/shrinking.h"
#include "coordinator/state/cordon.h"

namespace gp::coordinator {
namespace {

class ProgressPlanner {
 public:
  ProgressPlanner(const Cluster& cluster, const Run& run, const Policy& policy, const Now& now,
                  Plan& plan)
      : cluster_(cluster), run_(run), policy_(policy), now_(now), plan_(plan) {}

  void Advance() {
    const bool goes_on = run_.next_leg || run_.pausing;  // a user asked for that
    if (run_.gave_up && !goes_on) return End(RunState::kFailed, run_.reason);
    if (run_.state == RunState::kCancelling) return AdvanceCancelling();
    if (!run_.holds_slots) return AdvanceWithoutSlots();
    if (PlanSeals(cluster_, run_, plan_)) return;
    if (run_.state == RunState::kFinishing) return AdvanceFinishing();
    if (run_.HasFinalCheckpoint()) return Finish();
    // After a rank died that may have been the one to save the last step, FindFailure decides.
    if (run_.epoch == run_.placed_epoch &&
        AllRanks([](const RankReport& rank) { return rank.cause == ExitCause::kCompleted; })) {
      return End(RunState::kSucceeded, "every rank completed");
    }
    if (auto failure = FindFailure(cluster_, run_, policy_, now_)) {
      plan_.push_back(std::move(*failure));
      return;
    }
    if (!run_.drained_because.empty()) return;  // its ranks save and leave
    if (run_.pausing || run_.next_leg) return Leave(RequestedLeave(run_));
    const auto drained = DrainedNodeOf(cluster_, run_);
    if (drained && !MayLeaveInPlace(cluster_, run_)) return Leave(CordonText(*drained));
    if (run_.state == RunState::kStarting) AdvanceStarting();
    if (run_.state == RunState::kRunning) TellWaiting();
  }

 private:
  // What a user asked for while the run held slots happens now, also after a failure that would
  // end the run.
  void AdvanceWithoutSlots() {
    if (run_.next_leg) return Add(LegBegun{});
    if (run_.pausing) Add(RunPaused{"paused after a failure: " + run_.reason});
  }

  void AdvanceCancelling() {
    if (run_.holds_slots && PlanSeals(cluster_, run_, plan_)) return;
    if (run_.holds_slots && !AllGone()) return;
    const std::string& reason = run_.cancel_reason;
    End(RunState::kCancelled, reason.empty() ? "cancelled by the user" : reason);
  }

  void AdvanceFinishing() {
    // state_since is not stored, so after a coordinator restart the run gets the full timeout once
    // more.
    const Instant since = std::max(run_.state_since, cluster_.leases_from);
    if (AllGone() || cluster_.now - since > policy_.finish_timeout) {
      run_.next_leg ? Add(LegBegun{}) : End(RunState::kSucceeded, SuccessText());
    }
  }

  static std::string SuccessText(const SealedCheckpoint& final) {
    return final.end_reason.empty() ? fmt::format("trained to step {}", final.step)
                                    : final.end_reason;
  }

  std::string SuccessText() const {
    if (run_.HasFinalCheckpoint()) return SuccessText(run_.checkpoints.back());
    // A start with --adopt found the directory of the final checkpoint gone. The training itself is
    // complete, so the run has succeeded.
    for (const QuarantinedCheckpoint& held : run_.quarantined) {
      if (!held.checkpoint.final || held.checkpoint.leg != run_.leg.number) continue;
      return fmt::format("{}; its final checkpoint is in quarantine: {}",
                         SuccessText(held.checkpoint), held.reason);
    }
    return "trained to its last step; it has no final checkpoint";
  }

  // A running group first saves its last step. A group that is still starting has nothing to save,
  // so its run is requeued at once.
  void Leave(const std::string& reason) {
    if (run_.state == RunState::kRunning) return Add(RunDraining{run_.epoch, reason});
    plan_.push_back(RequeueAction(cluster_, run_, reason));
  }

  void AdvanceStarting() {
    if (!run_.group) {
      if (AllRanks([](const RankReport& rank) {
            return rank.alive() && rank.phase >= RankPhase::kListening && !rank.address.empty();
          }) &&
          HasNcclId()) {
        FormGroup();
      }
      return;
    }
    if (AllRanks([](const RankReport& rank) { return rank.phase >= RankPhase::kReady; })) {
      Add(RunStarted{run_.epoch});
    }
  }

  // Shows what a rank waits for, as long as the rank reports it.
  void TellWaiting() {
    std::string reason = run_.shrunk_because.empty() ? kEveryRankReady : run_.shrunk_because;
    for (const Placement& place : run_.placement) {
      const RankReport* report = Report(place);
      if (report == nullptr || report->waiting.empty()) continue;
      reason = fmt::format("rank {} waits: {}", place.rank, report->waiting);
      break;
    }
    if (run_.reason != reason) Add(RunWaiting{reason});
  }

  void FormGroup() {
    RunGroupReady ready{
        .epoch = run_.epoch, .isa = run_.leg.engine.isa, .kernels = run_.leg.engine.kernels};
    ready.encrypted = policy_.encrypt_gradients;
    for (const Placement& place : run_.placement) ready.addresses.push_back(Report(place)->address);
    if (ready.isa.empty()) TakeParentsEngine(ready);
    if (ready.isa.empty()) DecideEngine(ready);
    Add(std::move(ready));
  }

  bool HasNcclId() const {
    return !SumsOnGpus(run_) || !Report(run_.placement.front())->nccl_id.empty();
  }

  // A run that goes on in its parent's data computes like the leg that wrote its first checkpoint,
  // if every rank can: with the same settings it then gives the same bits as that run.
  void TakeParentsEngine(RunGroupReady& ready) {
    if (!run_.submission->keeps_data_position) return;
    const auto parent = cluster_.FindRunOrKept(RunId(run_.submission->parent_run));
    if (parent == nullptr) return;
    const Engine& engine = LegNumbered(*parent, run_.submission->parent_leg).engine;
    if (engine.isa.empty()) return;
    if (!AllRanks([&](const RankReport& rank) { return Offers(rank, engine.isa); })) {
      return TellOtherEngine(engine.isa);
    }
    ready.isa = engine.isa;
    ready.kernels = engine.kernels;
  }

  void TellOtherEngine(const std::string& isa) {
    const int64_t step = run_.submission->parent_step;
    if (std::pair(run_.epoch, step) <= run_.warned_at) return;
    Add(RunWarned{.epoch = run_.epoch,
                  .step = step,
                  .text = fmt::format(
                      "its parent computed with {}, which a node of this run cannot: the weights "
                      "may differ from the parent's in their last bits",
                      isa)});
  }

  // Chooses the instruction set level that is fastest on its slowest rank: the one whose lowest
  // place in the ranks' lists is highest, and of equal ones rank 0's first. The kernels are those
  // that rank 0's node tuned for it. Leaves both empty when the ranks have no level in common, for
  // example when trainers report none.
  void DecideEngine(RunGroupReady& ready) const {
    const RankReport& first = *Report(run_.placement.front());
    size_t best = SIZE_MAX;
    for (const std::string& level : first.isa_levels) {
      if (!AllRanks([&](const RankReport& rank) { return Offers(rank, level); })) continue;
      const size_t place = LowestPlaceOf(level);
      if (place >= best) continue;
      best = place;
      ready.isa = level;
    }
    const auto kernels = first.kernels.find(ready.isa);
    if (kernels != first.kernels.end()) ready.kernels.insert(*kernels);
  }

  // The largest index of `level` in a rank's list. REQUIRES: every rank offers it.
  size_t LowestPlaceOf(const std::string& level) const {
    size_t lowest = 0;
    for (const Placement& place : run_.placement) {
      const std::vector<std::string>& levels = Report(place)->isa_levels;
      const auto index = std::find(levels.begin(), levels.end(), level) - levels.begin();
      lowest = std::max(lowest, static_cast<size_t>(index));
    }
    return lowest;
  }

  static bool Offers(const RankReport& rank, const std::string& level) {
    return std::find(rank.isa_levels.begin(), rank.isa_levels.end(), level) !=
           rank.isa_levels.end();
  }

  void Finish() { Add(RunFinishing{run_.epoch}); }

  void End(RunState state, const std::string& reason) { Add(RunEnded{state, reason}); }

  void Add(EventBody event) { plan_.push_back({run_.id, std::move(event), "scheduler"}); }

  const RankReport* Report(const Placement& place) const {
    return FindReport(cluster_, run_, place);
  }

  template <typename Condition>
  bool AllRanks(Condition condition) const {
    return std::all_of(run_.placement.begin(), run_.placement.end(), [&](const Placement& place) {
      const RankReport* report = Report(place);
      return report != nullptr && condition(*report);
    });
  }

  bool AllGone() const {
    return std::all_of(run_.placement.begin(), run_.placement.end(), [&](const Placement& place) {
      return IsGone(cluster_, run_, place, policy_);
    });
  }

  const Cluster& cluster_;
  const Run& run_;
  const Policy& policy_;
  const Now& now_;
  Plan& plan_;
};

}  // namespace

void PlanProgress(const Cluster& cluster, const Run& run, const Policy& policy, const Now& now,
                  Plan& plan) {
  ProgressPlanner(cluster, run, policy, now, plan).Advance();
}

}  // namespace gp::coordinator
