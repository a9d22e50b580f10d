// Data is missing when a run is placed again, or on one of two nodes. When the data is back, the
// run continues and ends with the weights of an undisturbed run. Data that never existed fails the
// run at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "faults/fault_run.h"

namespace gp::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kSteps = 400;

class DataAway : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteText(cluster_);
    cluster_.StartCoordinator();
  }

  std::string At(const std::string& name) const { return JoinPath(cluster_.directory(), name); }

  // Stops the node once the run has a checkpoint, calls `disturb`, and starts the node again.
  void Disturb(const std::string& run, const std::function<void()>& disturb) {
    cluster_.WaitFor(run, [](const v1::Run& now) { return now.latest_checkpoint_step() >= 20; });
    cluster_.worker("node-a").Kill();
    ASSERT_TRUE(Eventually([&] { return !cluster_.Nodes().at(0).connected(); }));
    disturb();
    cluster_.StartWorker("node-a", {.slots = 1});
  }

  void WaitForReason(const std::string& run, const std::string& words) {
    cluster_.WaitFor(run, [&](const v1::Run& now) {
      return now.state() == v1::RUN_STATE_BACKOFF && now.reason().find(words) != std::string::npos;
    });
  }

  void ExpectUndisturbedEnd(const std::string& run) {
    const v1::Run end = cluster_.WaitForEnd(run);
    EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
    EXPECT_TRUE(FinalWeights(cluster_, run) == UndisturbedWeights(kSteps));
  }

  Cluster cluster_;
};

// Case runs-and-service/37: the temporary absence of a text file failed the run.
TEST_F(DataAway, MissingTextIsWaitedFor) {
  cluster_.StartWorker("node-a", {.slots = 1});
  const std::string run = cluster_.Submit(FaultRun(1, kSteps));
  Disturb(run, [&] { std::filesystem::rename(At("text.txt"), At("away.txt")); });
  WaitForReason(run, "text.txt does not exist");
  const v1::Node node = cluster_.Nodes().at(0);
  ASSERT_EQ(node.data_problems_size(), 1);
  EXPECT_EQ(node.data_problems(0).run_id(), run);
  EXPECT_THAT(node.data_problems(0).reason(), HasSubstr("text.txt does not exist"));
  std::filesystem::rename(At("away.txt"), At("text.txt"));
  ExpectUndisturbedEnd(run);
  EXPECT_TRUE(cluster_.Nodes().at(0).data_problems().empty());
}

// Case runs-and-service/35: a change of the text file during a run was not detected.
TEST_F(DataAway, ChangedTextIsToldApartAndWaitedFor) {
  cluster_.StartWorker("node-a", {.slots = 1});
  const std::string run = cluster_.Submit(FaultRun(1, kSteps));
  const std::string text = *ReadFile(At("text.txt"));
  Disturb(run, [&] { ASSERT_TRUE(WriteFileAtomically(At("text.txt"), text + "more").ok()); });
  WaitForReason(run, "the run's data has changed");
  ASSERT_TRUE(WriteFileAtomically(At("text.txt"), text).ok());
  ExpectUndisturbedEnd(run);
}

// The text existed at submit time; the node sees it only when it is back.
TEST_F(DataAway, TextThatWasThereAtTheSubmitIsWaitedFor) {
  const std::string run = cluster_.Submit(FaultRun(1, kSteps));
  std::filesystem::rename(At("text.txt"), At("away.txt"));
  cluster_.StartWorker("node-a", {.slots = 1});
  WaitForReason(run, "text.txt does not exist");
  std::filesystem::rename(At("away.txt"), At("text.txt"));
  ExpectUndisturbedEnd(run);
}

// Case runs-and-service/38: a node without the data used up all retries of the run.
TEST_F(DataAway, ANodeThatAloneLacksTheTextIsPassedOver) {
  if (std::system("unshare --mount mount -t tmpfs none /tmp") != 0) {
    GTEST_SKIP() << "a mount that one node alone sees needs root and unshare";
  }
  ASSERT_TRUE(MakeDirectories(At("data")).ok());
  std::filesystem::rename(At("text.txt"), At("data/text.txt"));
  const std::string program = At("trainer-without-data");
  ASSERT_TRUE(WriteFileAtomically(
                  program, fmt::format("#!/bin/sh\nexec unshare --mount sh -c 'mount -t tmpfs none "
                                       "{}; exec \"$0\" \"$@\"' {} \"$@\"\n",
                                       At("data"), JoinPath(std::getenv("GP_BIN"), "gp-trainer")))
                  .ok());
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  cluster_.StartWorker("hole",
                       {.slots = 1, .config = fmt::format("trainer: {{program: {}}}\n", program)});
  std::string file = FaultRun(1, kSteps);
  file.replace(file.find("[text.txt]"), 10, "[data/text.txt]");
  const std::string run = cluster_.Submit(file);
  WaitForReason(run, "node hole cannot use the run's data: data.text: ");
  cluster_.StartWorker("node-a", {.slots = 1});
  ExpectUndisturbedEnd(run);
  EXPECT_EQ(cluster_.Get(run).placement(0).node_name(), "node-a");
}

TEST_F(DataAway, TextThatNeverExistedEndsTheRunAtOnce) {
  std::filesystem::remove(At("text.txt"));
  cluster_.StartWorker("node-a", {.slots = 1});
  const v1::Run end = cluster_.WaitForEnd(cluster_.Submit(FaultRun(1, kSteps)));
  EXPECT_EQ(end.state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(end.epoch(), 1u) << end.reason();
  EXPECT_THAT(end.reason(),
              AllOf(HasSubstr("text.txt does not exist"), HasSubstr("retrying cannot help")));
}

}  // namespace
}  // namespace gp::testing
