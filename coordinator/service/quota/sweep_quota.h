// SweepQuota: limits how many trials a user's sweeps may run at a time, because they count as runs
// of the user. SweepService asks it for callers with a token only. Thread-safe.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "coordinator/service/quota/reserved_places.h"
#include "coordinator/service/quota/run_quota.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

class SweepQuota {
 public:
  using Place = ReservedPlaces::Place;

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
  ReservedPlaces places_;  // trials
};

}  // namespace gp::coordinator
