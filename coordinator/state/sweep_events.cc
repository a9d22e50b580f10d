#include "coordinator/state/sweep_events.h"

#include <set>

#include "coordinator/state/initial_model.h"

namespace gp::coordinator {
namespace {

Status Impossible(const RunChange& change, const SweepId& sweep, const char* why) {
  return FailedPrecondition("event '{}' of sweep '{}' is impossible: {}", Kind(change.event()),
                            sweep, why);
}

// The models that trials of the sweep may begin from, each once. While the sweep has not ended they
// are kept, as for a run that waits.
std::set<std::string> ModelsOf(const SweepSpec& spec) {
  std::set<std::string> models;
  for (const SweepTrial& trial : spec.trials) models.insert(InitialModelOf(trial.submission));
  models.erase("");
  return models;
}

void ReleaseModels(const SweepSpec& spec, std::map<std::string, int>& awaited) {
  for (const std::string& model : ModelsOf(spec)) {
    const auto it = awaited.find(model);
    if (it != awaited.end() && --it->second == 0) awaited.erase(it);
  }
}

// Once the sweep has ended, nothing is submitted any more.
std::shared_ptr<const SweepSpec> WithoutRunFiles(SweepSpec spec) {
  spec.run_source.clear();
  for (SweepTrial& trial : spec.trials) trial.submission.resolved.clear();
  return std::make_shared<const SweepSpec>(std::move(spec));
}

void Save(Sweep sweep, Cluster& cluster) {
  const SweepId id = sweep.spec->id();
  cluster.sweeps.Set(id, std::make_shared<const Sweep>(std::move(sweep)));
}

void Forget(const Sweep& ended, Cluster& cluster) {
  cluster.ended_sweeps.erase(ended.ended_sequence);
  cluster.sweep_requests.Erase(ended.request_id);
  cluster.sweeps.Erase(ended.spec->id());
}

void ForgetOldSweeps(Cluster& cluster) {
  size_t trials = 0;
  for (const auto& [sequence, id] : cluster.ended_sweeps) {
    trials += cluster.FindSweep(id)->spec->trials.size();
  }
  while (trials > kEndedTrialsMax && cluster.ended_sweeps.size() > 1) {
    const auto oldest = cluster.FindSweep(cluster.ended_sweeps.begin()->second);
    trials -= oldest->spec->trials.size();
    Forget(*oldest, cluster);
  }
}

}  // namespace

Status ApplyBody(const SweepSubmitted& submitted, RunChange& change) {
  Cluster& cluster = change.cluster();
  const SweepId id = submitted.spec->id();
  if (const auto known = cluster.FindSweep(id)) {
    if (!HasEnded(known->state)) return Impossible(change, id, "it exists already");
    Forget(*known, cluster);
  }
  for (const std::string& model : ModelsOf(*submitted.spec)) ++cluster.awaited_models[model];
  cluster.sweep_requests.Set(change.event().request_id, id);
  cluster.live_sweeps.emplace(change.sequence(), id);
  Save({.spec = submitted.spec,
        .submitted_by = change.event().actor,
        .request_id = change.event().request_id,
        .submitted_sequence = change.sequence(),
        .submitted_at = change.event().at,
        .reason = "its trials run"},
       cluster);
  return OkStatus();
}

Status ApplyBody(const SweepCancelled& cancelled, RunChange& change) {
  const auto known = change.cluster().FindSweep(cancelled.sweep);
  if (known == nullptr) return Impossible(change, cancelled.sweep, "there is none");
  if (HasEnded(known->state)) return Impossible(change, cancelled.sweep, "it has ended");
  Sweep sweep = *known;
  sweep.state = SweepState::kCancelling;
  sweep.reason = "cancelled by " + change.event().actor + "; its trials save and leave";
  Save(std::move(sweep), change.cluster());
  return OkStatus();
}

Status ApplyBody(const SweepEnded& ended, RunChange& change) {
  Cluster& cluster = change.cluster();
  const auto known = cluster.FindSweep(ended.sweep);
  if (known == nullptr) return Impossible(change, ended.sweep, "there is none");
  if (HasEnded(known->state)) return Impossible(change, ended.sweep, "it has ended");
  ReleaseModels(*known->spec, cluster.awaited_models);
  cluster.live_sweeps.erase(known->submitted_sequence);
  Sweep sweep = *known;
  sweep.spec = WithoutRunFiles(*known->spec);
  sweep.state = ended.state;
  sweep.reason = ended.reason;
  sweep.ended_at = change.event().at;
  sweep.ended_sequence = change.sequence();
  Save(std::move(sweep), cluster);
  cluster.ended_sweeps.emplace(change.sequence(), ended.sweep);
  ForgetOldSweeps(cluster);
  return OkStatus();
}

}  // namespace gp::coordinator
