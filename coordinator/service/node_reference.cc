#include "coordinator/service/node_reference.h"

#include <algorithm>
#include <vector>

#include "base/text/excerpt.h"
#include "base/text/nearest_word.h"

namespace gp::coordinator {
namespace {

constexpr size_t kNamesMax = 5;

using NodePointer = std::shared_ptr<const Node>;

std::string IdsOf(const std::vector<NodePointer>& nodes) {
  std::string ids;
  for (size_t i = 0; i < nodes.size() && i < kNamesMax; ++i) {
    ids += (i == 0 ? "" : ", ") + nodes[i]->id.value();
  }
  return nodes.size() > kNamesMax ? ids + ", …" : ids;
}

Status NoSuchNode(const Cluster& cluster, const std::string& reference) {
  std::vector<std::string> names;
  for (const auto& [id, node] : cluster.nodes) {
    if (!node->name.empty()) names.push_back(node->name);
  }
  std::sort(names.begin(), names.end());
  const auto nearest = NearestWord(reference, names);
  return NotFound("node '{}' does not exist{}; 'gpctl workers list' shows all", Excerpt(reference),
                  nearest ? fmt::format("; did you mean '{}'?", *nearest) : "");
}

}  // namespace

StatusOr<NodePointer> ResolveNode(const Cluster& cluster, const std::string& reference) {
  std::vector<NodePointer> named;
  for (const auto& [id, node] : cluster.nodes) {
    if (node->name.empty()) continue;  // its agent has not connected to this process
    if (id.value() == reference) return node;
    if (node->name == reference) named.push_back(node);
  }
  if (named.size() == 1) return named.front();
  if (named.empty()) return NoSuchNode(cluster, reference);
  return FailedPrecondition("{} nodes are called '{}'; name one by its id: {}", named.size(),
                            reference, IdsOf(named));
}

}  // namespace gp::coordinator
