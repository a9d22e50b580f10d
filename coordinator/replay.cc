#include "coordinator/replay.h"

namespace gp::coordinator {

StatusOr<Cluster> ReplayStore(Store& store) {
  Cluster cluster;
  Status applied;
  RETURN_IF_ERROR(store.Load([&](const StoredEvent& stored) {
    if (!applied.ok()) return;
    applied = Apply(stored.event, cluster);
    if (applied.ok()) return;
    applied = DataLoss("store record {}: {}", stored.sequence, Message(applied));
  }));
  RETURN_IF_ERROR(applied);
  return cluster;
}

}  // namespace gp::coordinator
