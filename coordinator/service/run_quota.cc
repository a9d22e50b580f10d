#include "coordinator/service/run_quota.h"

namespace gp::coordinator {

StatusOr<std::shared_ptr<RunQuota::Place>> RunQuota::Reserve(
    const std::function<std::shared_ptr<const Cluster>()>& snapshot, const std::string& user) {
  MutexLock lock(mutex_);
  // Take the snapshot under the lock. Places are released under it too, and only when the run is in
  // the cluster or was refused. So each run is counted, in the snapshot or by its place.
  RunTally::Count counts = snapshot()->tally.Of(user);
  const auto held = submitting_.find(user);
  const int submitting = held == submitting_.end() ? 0 : held->second;
  counts.live += submitting;
  counts.waiting += submitting;
  if (counts.live >= options_.runs) {
    return ResourceExhausted(
        "{} has {} runs that have not ended, and may have {} (limits.runs); cancel some with "
        "'gpctl cancel RUN', or submit again when some have ended",
        user, counts.live, options_.runs);
  }
  if (counts.waiting >= options_.waiting) {
    return ResourceExhausted(
        "{} has {} runs that wait for slots, and may have {} (limits.waiting_runs); cancel some "
        "with 'gpctl cancel RUN', or submit again when some have started",
        user, counts.waiting, options_.waiting);
  }
  ++submitting_[user];
  return std::make_shared<Place>(*this, user);
}

void RunQuota::Place::Release() {
  if (released_.exchange(true)) return;
  MutexLock lock(quota_.mutex_);
  const auto held = quota_.submitting_.find(user_);
  if (--held->second == 0) quota_.submitting_.erase(held);
}

}  // namespace gp::coordinator
