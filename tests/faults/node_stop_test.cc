// A node is stopped on purpose while it holds a rank of a multi-node run.
#include <gtest/gtest.h>
#include <signal.h>

#include "faults/fault_run.h"

namespace gp::testing {
namespace {

constexpr int kMovedSteps = 300;

TEST(NodeStop, MovesTheRunToAnotherNodeWithoutAFailure) {
  Cluster cluster;
  WriteText(cluster);
  cluster.StartCoordinator();
  cluster.StartWorker("node-a", {.slots = 1});
  cluster.StartWorker("node-b", {.slots = 1});
  const std::string run = cluster.Submit(FaultRun(2, kMovedSteps));
  cluster.WaitForStep(run, 20);
  cluster.LaunchWorker("node-c", {.slots = 1});
  cluster.worker("node-b").Signal(SIGTERM);
  EXPECT_EQ(cluster.worker("node-b").Wait(kPatience), 0);
  const v1::Run end = cluster.WaitForEnd(run);
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_EQ(end.failures(), 0);
  EXPECT_EQ(end.epoch(), 2u);
  EXPECT_TRUE(FinalWeights(cluster, run) == UndisturbedWeights(kMovedSteps));
}

}  // namespace
}  // namespace gp::testing
