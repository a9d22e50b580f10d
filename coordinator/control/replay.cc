#include "coordinator/control/replay.h"

#include "base/log.h"
#include "coordinator/state/invariants.h"

namespace gp::coordinator {
namespace {

bool SetsAside(const Event& event) {
  const auto* ended = std::get_if<RunEnded>(&event.body);
  return ended != nullptr && ended->set_aside;
}

// Applies one record. Once a record of a run could not be applied, the run's later records are
// skipped, except the RunEnded that set the run aside.
void Replay(const StoredEvent& stored, Cluster& cluster) {
  const RunId& run = stored.event.run;
  if (!cluster.faulty.contains(run) || SetsAside(stored.event)) {
    const Status applied = Apply(stored.event, cluster);
    if (!applied.ok()) {
      cluster.faulty.emplace(run,
                             fmt::format("store record {}: {}", stored.sequence, Message(applied)));
    }
  }
  cluster.last_sequence = stored.sequence;
}

void FindFaulty(Cluster& cluster) {
  std::set<RunId> live;
  for (const auto& [sequence, run] : cluster.live) live.insert(run);
  for (const Violation& violation : FindViolations(cluster, cluster, live)) {
    cluster.faulty.emplace(violation.run, violation.rule);
  }
}

}  // namespace

StatusOr<Cluster> ReplayStore(Store& store) {
  Cluster cluster;
  RETURN_IF_ERROR(store.Load([&](const StoredEvent& stored) { Replay(stored, cluster); }));
  FindFaulty(cluster);
  for (const auto& [run, why] : cluster.faulty) {
    LogError("the store has a run that cannot continue; it is set aside",
             {{"run", run}, {"why", why}});
  }
  return cluster;
}

}  // namespace gp::coordinator
