// What PlanRetention and prunes keep; tests/scenarios/prune.txt and checkpoints.txt show both at
// work.
#include "coordinator/scheduler/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

using RunValue = Run;  // a fixture has a method Run

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A run in a cluster, with checkpoints of steps 10, 20, … 50, all of epoch 1.
class RetentionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    run_.id = RunId("r");
    Submission submission = SampleSubmission();
    submission.keep_last = 1;
    submission.keep_every = 0;
    submission.parent_run.clear();
    run_.submission = std::make_shared<const Submission>(submission);
    run_.state = RunState::kSucceeded;
    for (int step = 10; step <= 50; step += 10) {
      SealedCheckpoint one;
      one.step = step;
      one.epoch = 1;
      one.directory = fmt::format("/storage/runs/r/checkpoints/{}", step);
      run_.checkpoints.push_back(one);
    }
  }
  SealedCheckpoint& At(int step) { return run_.checkpoints[static_cast<size_t>(step / 10 - 1)]; }

  std::vector<int64_t> Prunable(int keep_last = 1) {
    std::vector<int64_t> steps;
    for (const auto& one : PrunableCheckpoints(cluster_, run_, keep_last)) {
      steps.push_back(one.step);
    }
    return steps;
  }
  std::vector<int64_t> Retired() {
    Plan plan;
    PlanRetention(cluster_, run_, plan);
    std::vector<int64_t> steps;
    for (const Action& action : plan) {
      steps.push_back(std::get<CheckpointRetired>(action.event).step);
    }
    return steps;
  }

  Cluster cluster_;
  RunValue run_;
};

TEST_F(RetentionTest, APruneOfAnEndedRunKeepsTheNewest) {
  EXPECT_THAT(Prunable(), ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(Prunable(3), ElementsAre(10, 20));
  EXPECT_THAT(Prunable(9), IsEmpty());
}

TEST_F(RetentionTest, APruneKeepsTheBestThePinnedAndTheRestored) {
  At(20).validation_loss = 1;
  At(30).pinned = true;
  At(40).restored = true;
  EXPECT_THAT(Prunable(), ElementsAre(10));
}

TEST_F(RetentionTest, APruneOfALiveRunKeepsWhatItMayNeed) {
  run_.state = RunState::kRunning;
  run_.resume_step = 20;
  EXPECT_THAT(Prunable(), ElementsAre(10, 30));
}

TEST_F(RetentionTest, APruneTakesSupersededCheckpoints) {
  SealedCheckpoint older = At(40);
  older.epoch = 0;
  run_.superseded = {older};
  EXPECT_EQ(PrunableCheckpoints(cluster_, run_, 3),
            (std::vector<CheckpointKey>{{10, 1}, {20, 1}, {40, 0}}));
}

TEST_F(RetentionTest, APruneBeforeTheFirstCheckpointOfALegKeepsTheNewestOfTheLegBefore) {
  std::swap(run_.superseded, run_.checkpoints);  // restarted from the start
  EXPECT_THAT(Prunable(), ElementsAre(10, 20, 30, 40));
  run_.state = RunState::kQueued;
  EXPECT_THAT(Prunable(), ElementsAre(10, 20, 30));
  SealedCheckpoint again;
  again.step = 10;
  again.epoch = 2;
  run_.checkpoints = {again};
  EXPECT_THAT(Prunable(), ElementsAre(10, 20, 30, 40, 50));
}

TEST_F(RetentionTest, APruneKeepsWhereOtherRunsBegan) {
  cluster_.Set(run_);
  RunValue child;
  child.id = RunId("child");
  Submission submission = SampleSubmission();
  submission.parent_run = "r";
  submission.parent_leg = 1;
  submission.parent_step = 20;
  child.submission = std::make_shared<const Submission>(submission);
  child.state = RunState::kFailed;
  cluster_.Set(child);
  EXPECT_THAT(Prunable(), ElementsAre(10, 30, 40));
  cluster_.Delete(child, {.id = child.id});
  EXPECT_THAT(Prunable(), ElementsAre(10, 20, 30, 40));
}

TEST_F(RetentionTest, PinnedCheckpointsDoNotCountTowardsKeepLast) {
  EXPECT_THAT(Retired(), ElementsAre(30, 20, 10));
  At(50).pinned = true;
  At(10).pinned = true;
  EXPECT_THAT(Retired(), ElementsAre(20));
}

TEST_F(RetentionTest, TheBaseOfAnEndedRunThatMayBeRetriedStays) {
  run_.state = RunState::kRunning;
  run_.epoch = 1;
  cluster_.Set(run_);
  EXPECT_THAT(Retired(), ElementsAre(30, 20, 10));
  RunValue child;
  child.id = RunId("child");
  child.submitted_sequence = 7;
  child.state = RunState::kFailed;
  Submission submission = SampleSubmission();
  submission.parent_run = "r";
  submission.parent_leg = 1;
  submission.parent_step = 20;
  child.submission = std::make_shared<const Submission>(submission);
  cluster_.Set(child);
  EXPECT_THAT(Retired(), ElementsAre(30, 10));
  child.checkpoints.push_back({{.step = 25}});
  cluster_.Set(child);
  EXPECT_THAT(Retired(), ElementsAre(30, 20, 10)) << "it goes on from its own checkpoint";
}

}  // namespace
}  // namespace gp::coordinator
