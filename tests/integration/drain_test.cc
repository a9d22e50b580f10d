// Nodes are cordoned and drained while runs use them, with real daemons and the fake trainer.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "base/file.h"
#include "integration/cluster.h"
#include "integration/typed_gpctl.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;

class DrainTest : public ::testing::Test {
 protected:
  DrainTest() : cluster_({.trainer = std::getenv("GP_FAKE_TRAINER")}) {
    EXPECT_TRUE(WriteFileAtomically(cluster_.directory() + "/text.txt", "some text\n").ok());
    cluster_.StartCoordinator();
    cluster_.StartWorker("node-a", {.slots = 1});
  }

  TypedOutcome Type(const std::string& command) { return TypeGpctl(cluster_, command); }
  std::string Endless() {
    const std::string run = cluster_.Submit(FakeRun(1, 1'000'000, "fake-step-ms: '5'"));
    cluster_.WaitForStep(run, 3);
    return run;
  }
  std::string ReasonOf(const std::string& run, const std::string& kind) {
    for (const v1::RunEvent& event : cluster_.Events(run)) {
      if (event.kind() == kind) return event.reason();
    }
    return "";
  }

  Cluster cluster_;
};

TEST_F(DrainTest, ARunWithoutAnotherNodeWaitsAndGoesOnWhereItWas) {
  const std::string run = Endless();
  const auto drained = Type("workers drain node-a --reason 'new kernel'");
  EXPECT_EQ(drained.code, 0);
  EXPECT_THAT(drained.output, HasSubstr("Nothing runs on node-a any more."));
  EXPECT_TRUE(cluster_.KeptItsLastStep(run));
  const v1::Run waiting = cluster_.Get(run);
  EXPECT_EQ(waiting.state(), v1::RUN_STATE_QUEUED);
  EXPECT_EQ(waiting.reason(),
            "placement: needs 1 slot, no open node offers any; 1 of 1 nodes is drained: node-a "
            "(new kernel)");
  EXPECT_THAT(ReasonOf(run, "draining"), HasSubstr("node node-a is drained (new kernel)"));
  EXPECT_THAT(ReasonOf(run, "requeued"),
              HasSubstr(fmt::format("resumes from step {} ", waiting.latest_checkpoint_step())));
  EXPECT_THAT(Type("workers list").output, HasSubstr("node-a is drained: new kernel (owner, "));
  EXPECT_EQ(Type("workers uncordon node-a").code, 0);
  const v1::Run on = cluster_.WaitForStep(run, waiting.progress().step() + 3);
  EXPECT_EQ(on.failures(), 0);
  EXPECT_EQ(on.epoch(), 2u);
}

TEST_F(DrainTest, ACordonOutlivesCoordinatorAndAgent) {
  const std::string run = Endless();
  EXPECT_EQ(Type("workers cordon node-a --reason 'old disk'").code, 0);
  cluster_.coordinator().Kill();
  cluster_.StartCoordinator();
  EXPECT_THAT(Type("workers list").output, HasSubstr("node-a is cordoned: old disk"));
  const std::string second = cluster_.Submit(FakeRun(1, 5));
  // The reason appears once the agent has reconnected.
  cluster_.WaitFor(second, [](const v1::Run& waiting) {
    return waiting.reason().ends_with("1 of 1 nodes is cordoned: node-a (old disk)");
  });
  EXPECT_EQ(cluster_.WaitForStep(run, 10).epoch(), 1u) << "runs there continue";
  cluster_.worker("node-a").Signal(SIGTERM);
  EXPECT_EQ(cluster_.worker("node-a").Wait(kPatience), 0);
  cluster_.StartWorker("node-a", {.slots = 2});
  EXPECT_EQ(cluster_.Get(second).state(), v1::RUN_STATE_QUEUED);
  EXPECT_EQ(cluster_.Get(run).state(), v1::RUN_STATE_QUEUED);
  EXPECT_EQ(Type("workers uncordon node-a").code, 0);
  EXPECT_EQ(cluster_.WaitForEnd(second).state(), v1::RUN_STATE_SUCCEEDED);
}

TEST_F(DrainTest, AnUnknownNodeAndTooLongAWaitAreTold) {
  const auto unknown = Type("workers drain node-b");
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.output, HasSubstr("did you mean 'node-a'?"));
  const std::string run =
      cluster_.Submit(FakeRun(1, 1'000'000, "fake-step-ms: '5', fake-ignore-stop: 'true'"));
  cluster_.WaitForStep(run, 3);
  const auto late = Type("workers drain node-a --longest 100ms");
  EXPECT_EQ(late.code, 6);
  EXPECT_THAT(late.output, HasSubstr("1 slot is busy on node node-a after 100ms"));
  EXPECT_EQ(Type("workers list").code, 0);
  cluster_.Cancel(run, /*now=*/true);
  EXPECT_EQ(cluster_.WaitForEnd(run).state(), v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(Type("workers drain node-a").code, 0);
}

}  // namespace
}  // namespace gp::testing
