// Stall: finds the rank that holds up its group when every rank says that it waits for another one.
// A rank that hangs by itself is killed by its agent (worker/agent/progress_watch.h); this is about
// ranks that cannot reach each other. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>

#include "coordinator/state/cluster.h"

namespace gp::coordinator {

struct StalledRank {
  int rank = 0;
  std::string message;
};

// The rank that most others wait for; among equals the one that began to wait last. Nullopt while
// any rank of the group works, waits for something else, or waits for less than its limit; and
// while a node's newest report is old, because its ranks may have gone on. Times are measured by
// the agents, so a pause of the coordinator makes no rank late.
std::optional<StalledRank> FindStalledRank(const Cluster& cluster, const Run& run);

}  // namespace gp::coordinator
