#include "client/gpctl/render/fleet_model.h"

#include <utility>

namespace gp::gpctl {

void FleetModel::Apply(const v1::NodesResponse& nodes) {
  nodes_ = nodes;
  notice_.clear();
}

void FleetModel::Apply(const v1::ListResponse& runs, int64_t more) {
  filled_ = true;
  more_runs_ = more;
  runs_.assign(runs.runs().begin(), runs.runs().end());
  std::map<std::string, Losses> losses;
  for (const v1::Run& run : runs_) {
    const v1::Progress& progress = run.progress();
    if (progress.step() == 0) continue;
    Losses& known = losses[run.run_id()];
    known = std::move(losses_[run.run_id()]);
    const auto& points = known.curve.points();
    if (points.empty() || points.back().step != progress.step()) {
      known.curve.Add(progress.step(), progress.loss());
    }
  }
  losses_ = std::move(losses);
}

void FleetModel::Apply(const std::string& run_id, const ThinnedCurve& losses) {
  const auto found = losses_.find(run_id);
  if (found == losses_.end()) return;
  ThinnedCurve whole = losses;
  for (const ThinnedCurve::Point& point : found->second.curve.points()) {
    whole.Add(point.step, point.value);
  }
  found->second = {std::move(whole), true};
}

const ThinnedCurve* FleetModel::LossesOf(const std::string& run_id) const {
  const auto found = losses_.find(run_id);
  return found == losses_.end() ? nullptr : &found->second.curve;
}

std::vector<v1::Run> FleetModel::RunsWithoutHistory() const {
  std::vector<v1::Run> runs;
  for (const v1::Run& run : runs_) {
    const auto found = losses_.find(run.run_id());
    if (found != losses_.end() && !found->second.has_history) runs.push_back(run);
  }
  return runs;
}

}  // namespace gp::gpctl
