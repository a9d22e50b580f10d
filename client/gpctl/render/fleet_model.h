// FleetModel: the data of `gpctl top`: nodes, unfinished runs and the newest losses of each. A
// value; answers of the coordinator are applied to it. Not thread-safe; FleetFeed guards one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/gpctl/render/thinned_curve.h"
#include "gp/v1/run_service.pb.h"

namespace gp::gpctl {

class FleetModel {
 public:
  void Apply(const v1::NodesResponse& nodes);
  // All unfinished runs, or the first ones of them; `more` runs are not among them. The losses of
  // runs that are not listed any more are forgotten.
  void Apply(const v1::ListResponse& runs, int64_t more);
  // Losses of steps that were taken before the run was first listed.
  void Apply(const std::string& run_id, const ThinnedCurve& losses);

  // The reason why no updates arrive; the next Apply of nodes clears it.
  void SetNotice(const std::string& notice) { notice_ = notice; }
  const std::string& notice() const { return notice_; }

  bool filled() const { return filled_; }  // the first answers have arrived
  const v1::NodesResponse& nodes() const { return nodes_; }
  const std::vector<v1::Run>& runs() const { return runs_; }
  int64_t more_runs() const { return more_runs_; }
  // Null when no loss is known.
  const ThinnedCurve* LossesOf(const std::string& run_id) const;
  // The runs with steps whose earlier losses are not known yet.
  std::vector<v1::Run> RunsWithoutHistory() const;

 private:
  struct Losses {
    ThinnedCurve curve{256};
    bool has_history = false;
  };

  bool filled_ = false;
  std::string notice_;
  v1::NodesResponse nodes_;
  std::vector<v1::Run> runs_;
  int64_t more_runs_ = 0;
  std::map<std::string, Losses> losses_;  // by run id
};

}  // namespace gp::gpctl
