// SweepQuota: limits how many trials a user's sweeps may run at a time, because they count as runs
// of the user. SweepService asks it for callers with a token only. Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/status.h"
#include "coordinator/service/run_quota.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

class SweepQuota {
 public:
  // Reserves room for a sweep that is being submitted, until Release or destruction.
  class Place {
   public:
    Place(SweepQuota& quota, std::string user, int trials)
        : quota_(quota), user_(std::move(user)), trials_(trials) {}
    ~Place() { Release(); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    void Release();

   private:
    SweepQuota& quota_;
    const std::string user_;
    const int trials_;
    std::atomic<bool> released_ = false;
  };

  explicit SweepQuota(const RunQuotaOptions& options)
      : trials_max_(std::min(options.runs, options.waiting)) {}

  // Reserves a place for a sweep that `user` (Sweep::submitted_by) submits. Hold it until the sweep
  // is in the cluster or refused. `snapshot` must return a cluster that contains the sweeps of all
  // places released before. ResourceExhausted names the limit. The quota must outlive the places.
  StatusOr<std::shared_ptr<Place>> Reserve(
      const std::function<std::shared_ptr<const Cluster>()>& snapshot, const std::string& user,
      const SweepSpec& spec);

 private:
  const int trials_max_;
  Mutex mutex_;
  std::map<std::string, int> submitting_ GUARDED_BY(mutex_);  // reserved trials, by user
};

}  // namespace gp::coordinator
