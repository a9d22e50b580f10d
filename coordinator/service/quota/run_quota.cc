#include "coordinator/service/quota/run_quota.h"

namespace gp::coordinator {

StatusOr<std::shared_ptr<RunQuota::Place>> RunQuota::Reserve(
    const std::function<std::shared_ptr<const Cluster>()>& snapshot, const std::string& user) {
  return places_.Reserve(user, 1, [&](int submitting) -> Status {
    RunTally::Count counts = snapshot()->tally.Of(user);
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
    return OkStatus();
  });
}

}  // namespace gp::coordinator
