// RunQuota: limits a user's unfinished runs, and how many of these may wait, so that one user
// cannot fill the queue for all others. All tokens with one name are one user. RunService asks it
// for callers with a token only. Owned by the run service; thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/status.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

struct RunQuotaOptions {
  int runs = 1000;    // unfinished runs
  int waiting = 500;  // of these: in SUBMITTED, QUEUED or BACKOFF
};

class RunQuota {
 public:
  // Reserves room for a run that is being submitted, until Release or destruction.
  class Place {
   public:
    Place(RunQuota& quota, std::string user) : quota_(quota), user_(std::move(user)) {}
    ~Place() { Release(); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    void Release();

   private:
    RunQuota& quota_;
    const std::string user_;
    std::atomic<bool> released_ = false;
  };

  explicit RunQuota(const RunQuotaOptions& options) : options_(options) {}

  // Reserves a place for a run that `user` (Run::submitted_by) submits. Hold it until the run is in
  // the cluster or refused. `snapshot` must return a cluster that contains the runs of all places
  // released before. ResourceExhausted names the limit and what to do. The quota must outlive the
  // places.
  StatusOr<std::shared_ptr<Place>> Reserve(
      const std::function<std::shared_ptr<const Cluster>()>& snapshot, const std::string& user);

 private:
  const RunQuotaOptions options_;
  Mutex mutex_;
  std::map<std::string, int> submitting_ GUARDED_BY(mutex_);  // reserved places, by user
};

}  // namespace gp::coordinator
