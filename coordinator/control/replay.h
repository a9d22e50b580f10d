// Replay: builds the cluster from the store's records. Called at start, again after a start with
// --adopt has changed the catalogue, and by RestoreState.
#pragma once

#include "base/status.h"
#include "coordinator/state/cluster.h"
#include "coordinator/store/store.h"

namespace gp::coordinator {

// DataLoss names the record that cannot be read. A run with a record that cannot be applied, or a
// live run that breaks an invariant, is faulty: the first batch sets it aside. Nodes have only what
// the records say of them (state/node.h) until their agents connect.
StatusOr<Cluster> ReplayStore(Store& store);

}  // namespace gp::coordinator
