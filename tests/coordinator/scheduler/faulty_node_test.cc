// Goal: a node on which trainers end by themselves is cordoned, with the reason; never for what one
// run may have caused, and never the last one.
#include "coordinator/scheduler/faulty_node.h"

#include <gtest/gtest.h>

#include "coordinator/state/node_events.h"
#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

using RunValue = Run;  // in a TEST, `Run` means testing::Test::Run
using std::chrono::hours;
using std::chrono::minutes;

const Timestamp kNow = At(0) + hours(100);

class FaultyNode : public ::testing::Test {
 protected:
  FaultyNode() {
    AddNode("a");
    AddNode("b");
  }

  void AddNode(const std::string& name, const std::string& device = "cpu") {
    NodeConnected hello;
    hello.node = NodeId(name);
    hello.name = "node-" + name;
    hello.session = 1;
    hello.slots = {{SlotId("0"), device, {0}, 0}};
    Do({.body = hello});
  }

  void Do(const Event& event) {
    const Status status = Apply(event, cluster_);
    ASSERT_TRUE(status.ok()) << Kind(event) << ": " << status;
  }

  void Fails(const std::string& run, const std::string& node, Timestamp at = kNow) {
    NoteOwnExitOn(NodeId(node), {RunId(run), at}, cluster_);
  }

  // What is planned: "node a: reason"; empty: nothing.
  std::string Planned() const {
    Plan plan;
    PlanCordons(cluster_, Policy(), {cluster_.now, kNow}, plan);
    if (plan.empty()) return "";
    const auto& cordon = std::get<NodeCordoned>(plan.front().event);
    EXPECT_FALSE(cordon.drain);
    return cordon.name + ": " + cordon.reason;
  }

  Cluster cluster_;
};

TEST_F(FaultyNode, IsOneWhereTrainersOfTwoRunsFailedWithinAnHour) {
  Fails("x", "a", kNow - minutes(59));
  EXPECT_EQ(Planned(), "");
  Fails("y", "b");
  EXPECT_EQ(Planned(), "") << "on two nodes";
  Fails("y", "a");
  EXPECT_EQ(Planned(), "node-a: trainers of runs x and y failed there within an hour");
}

TEST_F(FaultyNode, ForgetsAfterAnHourAndWhenAnOperatorOpensIt) {
  Fails("x", "a", kNow - minutes(61));
  Fails("y", "a");
  EXPECT_EQ(Planned(), "");
  Fails("x", "a");
  EXPECT_NE(Planned(), "");
  Do({.body = NodeUncordoned{NodeId("a")}});
  EXPECT_EQ(Planned(), "");
}

TEST_F(FaultyNode, IsOneThatARunFailedOnTwiceAndThenGotPast) {
  const std::vector<Event> life = OneOfEachKind();
  for (size_t i = 0; i < 5; ++i) Do(life[i]);
  RunValue run = *cluster_.FindRun(kSampleRun);
  run.state = RunState::kRunning;
  run.placement = {{.rank = 0, .node = NodeId("b"), .slot = SlotId("0")}};
  run.exited_step = 10;
  cluster_.Set(run);
  Fails(kSampleRun.value(), "a");
  Fails(kSampleRun.value(), "a");
  NodeReported report{NodeId("b"), 1, cluster_.last_sequence, {}, {}};
  report.ranks.push_back({.run = kSampleRun, .epoch = run.epoch, .rank = 0});
  report.ranks.back().phase = RankPhase::kRunning;
  report.ranks.back().step = 10;
  Do({.body = report});
  EXPECT_EQ(Planned(), "") << "the run may be at fault";
  report.ranks.back().step = 11;
  Do({.body = report});
  EXPECT_EQ(Planned(), "node-a: run tiny failed there 2 times and then got further on other nodes");
}

TEST_F(FaultyNode, TheLastUsableOneStaysOpen) {
  Fails("x", "a");
  Fails("y", "a");
  Do({.body = NodeCordoned{NodeId("b"), "node-b", /*drain=*/false, "an operator's"}});
  EXPECT_EQ(Planned(), "");
  AddNode("c", "GPU-1");
  EXPECT_EQ(Planned(), "") << "it has no slots of this kind";
  AddNode("d");
  EXPECT_NE(Planned(), "");
}

TEST_F(FaultyNode, MayBeMadeByTheOwnEndOfATrainer) {
  RankFailed failed;
  EXPECT_FALSE(MayMakeNodeFaulty({}));
  EXPECT_FALSE(MayMakeNodeFaulty({{RunId("x"), failed, "scheduler"}}));
  failed.own_exit = true;
  EXPECT_TRUE(MayMakeNodeFaulty(
      {{RunId("y"), RunWaiting(), "scheduler"}, {RunId("x"), failed, "scheduler"}}));
}

}  // namespace
}  // namespace gp::coordinator
