// Goal: a run's latest and best checkpoints, and the one before a given checkpoint.
#include "coordinator/state/run.h"

#include <gtest/gtest.h>

namespace gp::coordinator {
namespace {

using RunValue = Run;  // in a TEST, `Run` means testing::Test::Run

SealedCheckpoint Sealed(int64_t step, std::optional<double> loss, bool retired = false) {
  SealedCheckpoint checkpoint;
  checkpoint.step = step;
  checkpoint.validation_loss = loss;
  checkpoint.retired = retired;
  return checkpoint;
}

RunValue RunWith(std::vector<SealedCheckpoint> checkpoints) {
  RunValue run;
  run.checkpoints = std::move(checkpoints);
  return run;
}

TEST(RunCheckpoints, OfEquallyGoodOnesTheLaterIsTheBest) {
  const RunValue run =
      RunWith({Sealed(10, 2.0), Sealed(20, 1.0), Sealed(30, 1.0), Sealed(40, 1.5), Sealed(50, {})});
  EXPECT_EQ(run.BestCheckpoint()->step, 30);
  EXPECT_EQ(run.LatestCheckpoint()->step, 50);
}

TEST(RunCheckpoints, TheBestEvaluationMayBeThatOfASupersededOne) {
  RunValue run = RunWith({Sealed(10, 2.0), Sealed(20, 1.75), Sealed(30, {})});
  run.superseded = {Sealed(20, 1.5), Sealed(40, 1.25, /*retired=*/true)};
  EXPECT_EQ(FindEvaluated(run, 10, 2.0), std::pair(std::as_const(run).checkpoints.data(), false));
  EXPECT_EQ(FindEvaluated(run, 20, 1.75).first, &run.checkpoints[1]);
  EXPECT_EQ(FindEvaluated(run, 20, 1.5), std::pair(std::as_const(run).superseded.data(), true));
  EXPECT_EQ(FindEvaluated(run, 20, 1.0).first, nullptr);
  EXPECT_EQ(FindEvaluated(run, 30, 1.0).first, &run.checkpoints[2]) << "its loss is not recorded";
  EXPECT_EQ(FindEvaluated(run, 40, 1.25).first, nullptr) << "it is removed";
}

TEST(RunCheckpoints, RetiredOnesAreNotOffered) {
  const RunValue run = RunWith({Sealed(10, 2.0), Sealed(20, 1.0, true), Sealed(30, 3.0, true)});
  EXPECT_EQ(run.LatestCheckpoint()->step, 10);
  EXPECT_EQ(run.BestCheckpoint()->step, 10);
  EXPECT_EQ(run.CheckpointBefore(30)->step, 10);
  EXPECT_EQ(run.CheckpointBefore(10), nullptr) << "one of the same step is not before it";
  EXPECT_EQ(run.FindCheckpoint(20)->step, 20) << "its step was sealed all the same";
}

TEST(RunCheckpoints, WithoutAnyThereIsNone) {
  EXPECT_EQ(RunWith({}).LatestCheckpoint(), nullptr);
  EXPECT_EQ(RunWith({}).BestCheckpoint(), nullptr);
  EXPECT_EQ(RunWith({Sealed(10, {})}).BestCheckpoint(), nullptr);
}

}  // namespace
}  // namespace gp::coordinator
