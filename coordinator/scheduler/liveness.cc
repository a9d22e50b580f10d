#include "coordinator/scheduler/liveness.h"

#include <algorithm>

namespace gp::coordinator {

bool IsLost(const Cluster& cluster, const NodeId& id, const Policy& policy) {
  return IsLostAt(cluster.now, cluster, id, policy);
}

bool IsLostAt(Instant now, const Cluster& cluster, const NodeId& id, const Policy& policy) {
  const auto node = cluster.FindNode(id);
  const Instant heard = node == nullptr ? Instant{} : node->last_heard;
  return now - std::max(heard, cluster.leases_from) > policy.lease;
}

bool IsGone(const Cluster& cluster, const Run& run, const Placement& placement,
            const Policy& policy) {
  if (IsLost(cluster, placement.node, policy)) return true;
  const auto node = cluster.FindNode(placement.node);
  if (node == nullptr) return false;
  const RankReport* report = FindReport(*node, run, placement);
  if (report != nullptr && !report->alive()) return true;
  if (report != nullptr || !node->connected) return false;
  return node->applied_revision >= run.assigned_sequence;
}

}  // namespace gp::coordinator
