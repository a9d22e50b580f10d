#include "coordinator/service/sweeps/sweep_quota.h"

namespace gp::coordinator {
namespace {

int TrialsAtATime(const SweepSpec& spec) {
  return std::min(spec.max_parallel, static_cast<int>(spec.trials.size()));
}

}  // namespace

StatusOr<std::shared_ptr<SweepQuota::Place>> SweepQuota::Reserve(
    const std::function<std::shared_ptr<const Cluster>()>& snapshot, const std::string& user,
    const SweepSpec& spec) {
  MutexLock lock(mutex_);
  // As in RunQuota: under the lock, each sweep is in the snapshot or has a place.
  const auto cluster = snapshot();
  const int added = TrialsAtATime(spec);
  const auto held = submitting_.find(user);
  int trials = added + (held == submitting_.end() ? 0 : held->second);
  for (const auto& [sequence, id] : cluster->live_sweeps) {
    const auto sweep = cluster->FindSweep(id);
    if (sweep->submitted_by == user) trials += TrialsAtATime(*sweep->spec);
  }
  if (trials > trials_max_) {
    return ResourceExhausted(
        "the sweeps of {} would run {} trials at a time, and may run {} (limits.runs, "
        "limits.waiting_runs); lower max_parallel, or submit again when others have ended",
        user, trials, trials_max_);
  }
  submitting_[user] += added;
  return std::make_shared<Place>(*this, user, added);
}

void SweepQuota::Place::Release() {
  if (released_.exchange(true)) return;
  MutexLock lock(quota_.mutex_);
  const auto held = quota_.submitting_.find(user_);
  held->second -= trials_;
  if (held->second == 0) quota_.submitting_.erase(held);
}

}  // namespace gp::coordinator
