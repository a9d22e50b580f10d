// What a placement considers besides free slots: the smallest slot determines the number of
// threads, and nodes without the run's data are skipped.
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

// One free slot on each of the nodes a, b and c.
FreeSlots ThreeNodes() {
  FreeSlots free;
  for (const char* name : {"a", "b", "c"}) {
    free.nodes.push_back({.node = NodeId(name),
                          .name = name,
                          .free = {{SlotId("0"), "cpu", {0}, 0}},
                          .cpu_total = 1});
  }
  free.cpu_total = 3;
  free.data_reports_from = Instant(std::chrono::seconds(100));
  return free;
}

Run RunThatLacks(int workers, const std::map<std::string, int>& reported_at_seconds) {
  Submission submission;
  submission.workers = workers;
  Run run;
  run.submission = std::make_shared<const Submission>(submission);
  for (const auto& [node, reported_at] : reported_at_seconds) {
    run.lacking_nodes[NodeId(node)] = {"no data on " + node,
                                       Instant(std::chrono::seconds(reported_at))};
  }
  return run;
}

std::string UsableNodes(const Run& run) {
  std::string names;
  for (const auto& node : UsableBy(run, ThreeNodes()).nodes) names += node.name;
  return names;
}

TEST(UsableBy, PassesOverNodesThatLackTheDataWhileOthersAreEnough) {
  EXPECT_EQ(UsableNodes(RunThatLacks(1, {})), "abc");
  EXPECT_EQ(UsableNodes(RunThatLacks(1, {{"b", 200}})), "ac");
  EXPECT_EQ(UsableNodes(RunThatLacks(1, {{"b", 99}})), "abc") << "the report is too old";
  EXPECT_EQ(UsableBy(RunThatLacks(1, {{"b", 200}}), ThreeNodes()).unusable, "no data on b");
}

TEST(UsableBy, TakesTheNodeWithTheOldestReportWhenTheOthersAreTooFew) {
  EXPECT_EQ(UsableNodes(RunThatLacks(1, {{"a", 200}, {"b", 300}, {"c", 250}})), "a");
  EXPECT_EQ(UsableNodes(RunThatLacks(2, {{"a", 200}, {"b", 300}, {"c", 250}})), "ac");
  EXPECT_EQ(UsableNodes(RunThatLacks(3, {{"a", 200}})), "abc");
}

TEST(FitsWithout, CountsNoNodeThatLacksTheData) {
  const NodeId a("a");
  EXPECT_TRUE(FitsWithout(a, RunThatLacks(2, {}), ThreeNodes()));
  EXPECT_FALSE(FitsWithout(a, RunThatLacks(3, {}), ThreeNodes()));
  EXPECT_TRUE(FitsWithout(a, RunThatLacks(1, {{"a", 200}, {"b", 200}}), ThreeNodes()));
  EXPECT_FALSE(FitsWithout(a, RunThatLacks(1, {{"b", 200}, {"c", 200}}), ThreeNodes()));
}

}  // namespace
}  // namespace gp::coordinator
