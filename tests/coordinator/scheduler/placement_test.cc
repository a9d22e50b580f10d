// Goal: what a placement follows beside the fit: the smallest slot gives the threads.
#include "coordinator/scheduler/placement.h"

#include <gtest/gtest.h>

namespace gp::coordinator {
namespace {

Cluster ClusterWithSlots(const std::vector<std::vector<int>>& cores) {
  Cluster cluster;
  Node node;
  node.id = NodeId("n");
  for (size_t i = 0; i < cores.size(); ++i) {
    node.slots.push_back({SlotId(std::to_string(i)), "cpu", cores[i], 0});
  }
  cluster.nodes[node.id] = std::make_shared<const Node>(node);
  return cluster;
}

TEST(CoresPerRank, IsThatOfTheSmallestSlotWhereverItStands) {
  const Cluster cluster = ClusterWithSlots({{0, 1, 2}, {3}, {4, 5}, {}});
  const auto cores_of = [&cluster](const std::vector<const char*>& slots) {
    std::vector<Placement> placement;
    for (const char* slot : slots) {
      placement.push_back({static_cast<int>(placement.size()), NodeId("n"), SlotId(slot)});
    }
    return CoresPerRank(cluster, placement);
  };
  EXPECT_EQ(cores_of({"0"}), 3);
  EXPECT_EQ(cores_of({"0", "2"}), 2);
  EXPECT_EQ(cores_of({"1", "0"}), 1);
  EXPECT_EQ(cores_of({"0", "1", "2"}), 1);
  EXPECT_EQ(cores_of({"3"}), 1) << "at least one";
}

}  // namespace
}  // namespace gp::coordinator
