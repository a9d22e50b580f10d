// Replay: builds the cluster from the store's records. Called once, at start.
#pragma once

#include "base/status.h"
#include "coordinator/state/cluster.h"
#include "coordinator/store/store.h"

namespace gp::coordinator {

// DataLoss names the record that cannot be read. A run with a record that cannot be applied is
// faulty: the first batch sets it aside. Nodes are unknown until their agents say hello.
StatusOr<Cluster> ReplayStore(Store& store);

}  // namespace gp::coordinator
