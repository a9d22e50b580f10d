#include "coordinator/service/quota/sweep_quota.h"

namespace gp::coordinator {
namespace {

int TrialsAtATime(const SweepSpec& spec) {
  return std::min(spec.max_parallel, static_cast<int>(spec.trials.size()));
}

}  // namespace

StatusOr<std::shared_ptr<SweepQuota::Place>> SweepQuota::Reserve(
    const std::function<std::shared_ptr<const Cluster>()>& snapshot, const std::string& user,
    const SweepSpec& spec) {
  const int added = TrialsAtATime(spec);
  return places_.Reserve(user, added, [&](int submitting) -> Status {
    const auto cluster = snapshot();
    int trials = added + submitting;
    for (const auto& [sequence, id] : cluster->live_sweeps) {
      const auto sweep = cluster->FindSweep(id);
      if (sweep->submitted_by == user) trials += TrialsAtATime(*sweep->spec);
    }
    if (trials <= trials_max_) return OkStatus();
    return ResourceExhausted(
        "the sweeps of {} would run {} trials at a time, and may run {} (limits.runs, "
        "limits.waiting_runs); lower max_parallel, or submit again when others have ended",
        user, trials, trials_max_);
  });
}

}  // namespace gp::coordinator
