#include "coordinator/scheduler/sealing.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "coordinator/state/assignment.h"

namespace gp::coordinator {
namespace {

// Checkpoints that the ranks report as written and that are neither sealed nor refused.
std::vector<contract::WrittenCheckpoint> SealableCheckpoints(const Cluster& cluster,
                                                             const Run& run) {
  std::vector<contract::WrittenCheckpoint> sealable;
  for (const Placement& place : run.placement) {
    const RankReport* report = FindReport(cluster, run, place);
    if (report == nullptr) continue;
    for (const contract::WrittenCheckpoint& written : report->written) {
      if (run.FindCheckpoint(written.step) != nullptr) continue;
      if (SealRefusal(run, written).empty()) sealable.push_back(written);
    }
  }
  return sealable;
}

}  // namespace

bool PlanSeals(const Cluster& cluster, const Run& run, Plan& plan) {
  std::vector<contract::WrittenCheckpoint> sealable = SealableCheckpoints(cluster, run);
  std::sort(sealable.begin(), sealable.end(),
            [](const contract::WrittenCheckpoint& a, const contract::WrittenCheckpoint& b) {
              return a.step < b.step;
            });
  int64_t sealed_step = -1;
  for (contract::WrittenCheckpoint& written : sealable) {
    if (written.step == sealed_step) continue;
    sealed_step = written.step;
    plan.push_back(
        {run.id, CheckpointSealed{run.epoch, std::move(written), run.leg.number}, "scheduler"});
  }
  return !sealable.empty();
}

}  // namespace gp::coordinator
