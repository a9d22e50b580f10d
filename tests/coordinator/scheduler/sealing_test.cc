// Goal: each checkpoint that a run's ranks wrote is sealed once, in the order of steps, unless it
// must be refused.
#include "coordinator/scheduler/sealing.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

constexpr Epoch kEpoch = 2;
const std::string kCheckpoints = "/storage/runs/r/checkpoints/";

// Run "r" trains in epoch 2 with two ranks on node n; no checkpoint is sealed yet.
class Sealing : public ::testing::Test {
 protected:
  Sealing() {
    Do({.body = Tick{Instant(std::chrono::seconds(1000))}});
    NodeConnected hello;
    hello.node = NodeId("n");
    hello.session = 1;
    Do({.body = hello});
    std::vector<Event> life = OneOfEachKind();
    life.resize(7);
    for (const Event& event : life) Do(event);
  }

  void Do(const Event& event) {
    const Status status = Apply(event, cluster_);
    ASSERT_TRUE(status.ok()) << Kind(event) << ": " << status;
  }

  // The steps that get sealed when rank i reports the checkpoints in written[i].
  std::vector<int64_t> SealedSteps(
      const std::vector<std::vector<contract::WrittenCheckpoint>>& written) {
    NodeReported report{NodeId("n"), 1, cluster_.last_sequence, {}, {}};
    for (size_t rank = 0; rank < written.size(); ++rank) {
      report.ranks.push_back({.run = kSampleRun, .epoch = kEpoch, .rank = static_cast<int>(rank)});
      report.ranks.back().phase = RankPhase::kRunning;
      report.ranks.back().written = written[rank];
    }
    Do({.body = report});
    gp::coordinator::Plan plan;
    const bool planned = PlanSeals(cluster_, *cluster_.FindRun(kSampleRun), plan);
    EXPECT_EQ(planned, !plan.empty());
    std::vector<int64_t> steps;
    for (const Action& action : plan) {
      const auto& sealed = std::get<CheckpointSealed>(action.event);
      EXPECT_EQ(sealed.epoch, kEpoch);
      steps.push_back(sealed.checkpoint.step);
    }
    return steps;
  }

  static contract::WrittenCheckpoint Written(int64_t step) {
    return {.step = step,
            .directory = kCheckpoints + "step-" + std::to_string(step) + "-e2-a",
            .manifest_digest = "digest"};
  }

  Cluster cluster_;
};

TEST_F(Sealing, SealsOldestStepsFirstAndEachOnce) {
  EXPECT_EQ(SealedSteps({{Written(20), Written(10)}, {Written(10)}}),
            (std::vector<int64_t>{10, 20}));
}

TEST_F(Sealing, SealsNothingThatIsSealedOrRefused) {
  contract::WrittenCheckpoint outside = Written(30);
  outside.directory = "/etc";
  EXPECT_EQ(SealedSteps({{outside}}), std::vector<int64_t>{});
  Do({.run = kSampleRun, .body = CheckpointSealed{kEpoch, Written(20)}});
  EXPECT_EQ(SealedSteps({{Written(20), Written(10)}}), std::vector<int64_t>{});
}

}  // namespace
}  // namespace gp::coordinator
