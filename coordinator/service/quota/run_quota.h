// RunQuota: limits a user's unfinished runs, and how many of these may wait, so that one user
// cannot fill the queue for all others. All tokens with one name are one user. RunService asks it
// for callers with a token only. Owned by the run service; thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "coordinator/service/quota/reserved_places.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

struct RunQuotaOptions {
  int runs = 1000;    // unfinished runs
  int waiting = 500;  // of these: in SUBMITTED, QUEUED or BACKOFF
};

class RunQuota {
 public:
  using Place = ReservedPlaces::Place;

  explicit RunQuota(const RunQuotaOptions& options) : options_(options) {}

  // Reserves a place for a run that `user` (Run::submitted_by) submits. Hold it until the run is in
  // the cluster or refused. `snapshot` must return a cluster that contains the runs of all places
  // released before. ResourceExhausted names the limit and what to do. The quota must outlive the
  // places.
  StatusOr<std::shared_ptr<Place>> Reserve(
      const std::function<std::shared_ptr<const Cluster>()>& snapshot, const std::string& user);

 private:
  const RunQuotaOptions options_;
  ReservedPlaces places_;
};

}  // namespace gp::coordinator
