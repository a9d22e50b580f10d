// Runs from submit to end with real daemons and the fake trainer, without faults.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/file.h"
#include "integration/cluster.h"

namespace gp::testing {
namespace {

class Life : public ::testing::Test {
 protected:
  Life() : cluster_({.trainer = std::getenv("GP_FAKE_TRAINER")}) {
    EXPECT_TRUE(WriteFileAtomically(cluster_.directory() + "/text.txt", "some text\n").ok());
    cluster_.StartCoordinator();
  }

  Cluster cluster_;
};

TEST_F(Life, ARunGoesFromSubmitToASealedCheckpoint) {
  cluster_.StartWorker("node-a", {.slots = 2});
  const std::string id = cluster_.Submit(
      FakeRun(2, 30, "fake-step-ms: '1'", "checkpoint: {every: 10, keep_last: 2}\n"));
  const v1::Run run = cluster_.WaitForEnd(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED) << run.reason();
  EXPECT_EQ(run.epoch(), 1u);
  EXPECT_EQ(run.failures(), 0);
  EXPECT_EQ(run.latest_checkpoint_step(), 30);

  const auto checkpoints = cluster_.Checkpoints(id);
  ASSERT_FALSE(checkpoints.empty());
  EXPECT_EQ(checkpoints.back().step(), 30);
  EXPECT_TRUE(checkpoints.back().latest());
  EXPECT_TRUE(FileExists(checkpoints.back().directory() + "/manifest.json"));

  std::set<std::string> kinds;
  uint64_t sequence = 0;
  for (const auto& event : cluster_.Events(id)) {
    EXPECT_GT(event.sequence(), sequence);
    sequence = event.sequence();
    kinds.insert(event.kind());
  }
  EXPECT_TRUE(kinds.contains("run_submitted") || kinds.contains("submitted"));
}

TEST_F(Life, EveryPointAndLineArrivesOnceAndInOrder) {
  cluster_.StartWorker("node-a", {.slots = 1});
  const std::string id = cluster_.Submit(FakeRun(1, 200, "fake-step-ms: '0'"));
  EXPECT_EQ(cluster_.WaitForEnd(id).state(), v1::RUN_STATE_SUCCEEDED);
  ASSERT_TRUE(Eventually([&] { return cluster_.Points(id).size() >= 200; }));
  const auto points = cluster_.Points(id);
  ASSERT_EQ(points.size(), 200u);
  for (size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(points[i].step(), static_cast<int64_t>(i) + 1);
  }
  std::vector<std::string> texts;
  ASSERT_TRUE(Eventually([&] {
    texts.clear();
    for (const auto& line : cluster_.Lines(id)) {
      if (line.rank() == 0) texts.push_back(line.text());
    }
    return texts.size() >= 2;
  }));
  EXPECT_EQ(texts, (std::vector<std::string>{"fake trainer started rank=0 step=0",
                                             "fake trainer finished"}));
}

TEST_F(Life, ARunThatIsCancelledNowFreesItsSlotsWithoutTheGrace) {
  cluster_.StartWorker("node-a", {.slots = 2, .config = "trainer: {stop_grace: 1h}\n"});
  const std::string id =
      cluster_.Submit(FakeRun(2, 1'000'000, "fake-step-ms: '5', fake-ignore-stop: 'true'"));
  cluster_.WaitForStep(id, 3);
  const auto trainers = ChildrenOf(cluster_.worker("node-a").pid());
  EXPECT_EQ(trainers.size(), 2u);
  cluster_.Cancel(id, /*now=*/true);
  EXPECT_EQ(cluster_.WaitForEnd(id).state(), v1::RUN_STATE_CANCELLED);
  for (const int pid : trainers) EXPECT_FALSE(Alive(pid));
  EXPECT_EQ(cluster_.Cancel(id).state(), v1::RUN_STATE_CANCELLED);
}

TEST_F(Life, ACancelledRunKeepsItsLastStep) {
  cluster_.StartWorker("node-a", {.slots = 1});
  const std::string id = cluster_.Submit(FakeRun(1, 1'000'000, "fake-step-ms: '5'"));
  cluster_.WaitForStep(id, 3);
  cluster_.Cancel(id);
  const v1::Run end = cluster_.WaitForEnd(id);
  EXPECT_EQ(end.state(), v1::RUN_STATE_CANCELLED);
  EXPECT_TRUE(cluster_.KeptItsLastStep(id));
  EXPECT_GE(end.latest_checkpoint_step(), 3);
}

TEST_F(Life, ACancelThatWaitsForAStubbornTrainerCanBeHurried) {
  cluster_.StartWorker("node-a", {.slots = 1});
  const std::string id =
      cluster_.Submit(FakeRun(1, 1'000'000, "fake-step-ms: '5', fake-ignore-stop: 'true'"));
  cluster_.WaitForStep(id, 3);
  EXPECT_EQ(cluster_.Cancel(id).state(), v1::RUN_STATE_CANCELLING);
  EXPECT_EQ(cluster_.Cancel(id, /*now=*/true).state(), v1::RUN_STATE_CANCELLING);
  EXPECT_EQ(cluster_.WaitForEnd(id).state(), v1::RUN_STATE_CANCELLED);
}

TEST_F(Life, ARunWhoseNodeIsStoppedGoesOnFromItsLastStepWithoutAFailure) {
  cluster_.StartWorker("node-a", {.slots = 1});
  const std::string id = cluster_.Submit(FakeRun(1, 400, "fake-step-ms: '5'"));
  cluster_.WaitForStep(id, 3);
  cluster_.worker("node-a").Signal(SIGTERM);
  EXPECT_EQ(cluster_.worker("node-a").Wait(kPatience), 0);
  const v1::Run waiting = cluster_.Get(id);
  EXPECT_EQ(waiting.state(), v1::RUN_STATE_QUEUED) << waiting.reason();
  EXPECT_TRUE(cluster_.KeptItsLastStep(id));
  cluster_.StartWorker("node-b", {.slots = 1});
  const v1::Run end = cluster_.WaitForEnd(id);
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_EQ(end.failures(), 0);
  EXPECT_EQ(end.epoch(), 2u);
}

TEST_F(Life, ARunThatFitsNowhereWaitsAndSaysWhy) {
  cluster_.StartWorker("node-a", {.slots = 2});
  const std::string id = cluster_.Submit(FakeRun(4, 10));
  const v1::Run run = cluster_.WaitForState(id, v1::RUN_STATE_QUEUED);
  ASSERT_TRUE(Eventually([&] {
    return cluster_.Get(id).reason().find("4 slots") != std::string::npos;
  })) << cluster_.Get(id).reason();
  cluster_.StartWorker("node-b", {.slots = 2});
  EXPECT_EQ(cluster_.WaitForEnd(id).state(), v1::RUN_STATE_SUCCEEDED);
}

TEST_F(Life, TwoRunsOfTwoRanksShareFourSlots) {
  cluster_.StartWorker("node-a", {.slots = 4});
  const std::string first = cluster_.Submit(FakeRun(2, 1'000'000, "fake-step-ms: '5'"));
  const std::string second = cluster_.Submit(FakeRun(2, 1'000'000, "fake-step-ms: '5'"));
  cluster_.WaitForStep(first, 5);
  cluster_.WaitForStep(second, 5);
  std::set<std::string> slots;
  for (const std::string& id : {first, second}) {
    const v1::Run run = cluster_.Get(id);
    for (const auto& placement : run.placement()) slots.insert(placement.slot_id());
  }
  EXPECT_EQ(slots.size(), 4u);
  cluster_.Cancel(first);
  EXPECT_EQ(cluster_.WaitForEnd(first).state(), v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(cluster_.Get(second).state(), v1::RUN_STATE_RUNNING);
  EXPECT_EQ(cluster_.Get(second).epoch(), 1u);
}

TEST_F(Life, SigtermStopsBothDaemonsCleanly) {
  cluster_.StartWorker("node-a");
  const std::string id = cluster_.Submit(FakeRun(2, 1'000'000, "fake-step-ms: '5'"));
  cluster_.WaitForStep(id, 3);
  const auto trainers = ChildrenOf(cluster_.worker("node-a").pid());
  cluster_.worker("node-a").Signal(SIGTERM);
  EXPECT_EQ(cluster_.worker("node-a").Wait(kPatience), 0);
  for (const int pid : trainers) EXPECT_FALSE(Alive(pid));
  cluster_.coordinator().Signal(SIGTERM);
  EXPECT_EQ(cluster_.coordinator().Wait(kPatience), 0);
}

}  // namespace
}  // namespace gp::testing
