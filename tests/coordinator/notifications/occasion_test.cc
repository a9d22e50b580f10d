#include "coordinator/notifications/occasion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "contract/divergence_warning.h"

namespace gp::coordinator {
namespace {

// A test's body has a function Run, so the type cannot be named there.
Run MakeRun(std::vector<SealedCheckpoint> checkpoints = {}) {
  Run run;
  run.checkpoints = std::move(checkpoints);
  return run;
}

Event Of(EventBody body) { return {.run = RunId("r"), .body = std::move(body)}; }

SealedCheckpoint Checkpoint(int64_t step, std::optional<double> loss, Epoch epoch = 1,
                            int leg = 1) {
  SealedCheckpoint checkpoint;
  checkpoint.step = step;
  checkpoint.validation_loss = loss;
  checkpoint.epoch = epoch;
  checkpoint.leg = leg;
  return checkpoint;
}

Event Sealed(const SealedCheckpoint& checkpoint) {
  return Of(CheckpointSealed{checkpoint.epoch, checkpoint, checkpoint.leg});
}

TEST(Occasion, NamesFollowTheirNumbers) {
  EXPECT_EQ(Name(Occasion::kFinished), "finished");
  EXPECT_EQ(Name(Occasion::kWaiting), "waiting");
  EXPECT_EQ(OccasionNames().size(), 6u);
}

TEST(Occasion, AnEndIsOneUnlessAUserAskedForIt) {
  const auto run = MakeRun();
  EXPECT_EQ(OccasionOf(Of(RunEnded{RunState::kSucceeded, ""}), run), Occasion::kFinished);
  EXPECT_EQ(OccasionOf(Of(RunEnded{RunState::kFailed, ""}), run), Occasion::kFailed);
  EXPECT_EQ(OccasionOf(Of(RunEnded{RunState::kCancelled, ""}), run), std::nullopt);
}

TEST(Occasion, AStalledRankIsOneAndOtherFailuresAreNot) {
  const auto run = MakeRun();
  EXPECT_EQ(OccasionOf(Of(RankFailed{1, 0, ExitCause::kStalled}), run), Occasion::kStalled);
  EXPECT_EQ(OccasionOf(Of(RankFailed{1, 0, ExitCause::kSignal}), run), std::nullopt);
}

TEST(Occasion, ADivergenceThatEndsAGroupIsACauseOfItsOwn) {
  EXPECT_EQ(OccasionOf(Of(RankFailed{1, 0, ExitCause::kDiverged}), MakeRun()), Occasion::kDiverged);
}

TEST(Occasion, OfWarningsOnlyADivergenceIsOne) {
  const auto run = MakeRun();
  const std::string text = std::string(contract::kDivergedPrefix) + "the training loss nan";
  EXPECT_EQ(OccasionOf(Of(RunWarned{1, 5, text}), run), Occasion::kDiverged);
  EXPECT_EQ(OccasionOf(Of(RunWarned{1, 5, "recovered: the loss"}), run), std::nullopt);
}

TEST(Occasion, ALowerValidationLossThanAnyBeforeIsOne) {
  const auto run = MakeRun({Checkpoint(10, 3.0), Checkpoint(20, std::nullopt), Checkpoint(30, 2.5),
                            Checkpoint(40, 2.5), Checkpoint(50, 2.0)});
  EXPECT_EQ(OccasionOf(Sealed(run.checkpoints[0]), run), Occasion::kNewBest);
  EXPECT_EQ(OccasionOf(Sealed(run.checkpoints[1]), run), std::nullopt);
  // Also when the log is read after a later and better checkpoint.
  EXPECT_EQ(OccasionOf(Sealed(run.checkpoints[2]), run), Occasion::kNewBest);
  EXPECT_EQ(OccasionOf(Sealed(run.checkpoints[3]), run), std::nullopt);
  EXPECT_EQ(OccasionOf(Sealed(run.checkpoints[4]), run), Occasion::kNewBest);
}

TEST(Occasion, ACheckpointThatAnotherLegLeftBehindDoesNotCountForThatLeg) {
  auto run = MakeRun({Checkpoint(10, 3.0), Checkpoint(20, 2.5, 2, 2)});
  run.superseded = {Checkpoint(20, 1.0, 1, 1), Checkpoint(30, 2.0, 1, 1)};
  EXPECT_EQ(OccasionOf(Sealed(run.checkpoints[1]), run), Occasion::kNewBest);
  EXPECT_EQ(OccasionOf(Sealed(run.superseded[1]), run), std::nullopt);
}

TEST(Occasion, WhatElseHappensIsNone) {
  const auto run = MakeRun();
  EXPECT_EQ(OccasionOf(Of(RunStarted{1}), run), std::nullopt);
  EXPECT_EQ(OccasionOf(Of(RunQueued{"waits"}), run), std::nullopt);
}

TEST(Occasion, ALossThatIsNoNumberIsNoBest) {
  for (const double loss : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(OccasionOf(Sealed(Checkpoint(10, loss)), MakeRun({Checkpoint(10, loss)})),
              std::nullopt);
  }
}

TEST(Occasion, KindsOfEventsThatNeverAreOneNeedNoRun) {
  EXPECT_TRUE(MayBeOccasion(Sealed(Checkpoint(10, 3.0))));
  EXPECT_TRUE(MayBeOccasion(Of(RunEnded{RunState::kFailed, ""})));
  EXPECT_FALSE(MayBeOccasion(Of(RunPaused())));
  EXPECT_FALSE(MayBeOccasion({}));
}

}  // namespace
}  // namespace gp::coordinator
