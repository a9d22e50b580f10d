// Goal: seeds are averaged, losses after different steps are not compared, and noise is named so.
#include "client/api/sweep_ranking.h"

#include <gtest/gtest.h>

#include "client/api/sample_sweep.h"

namespace gp::client {
namespace {

TEST(SweepRanking, CandidatesAreRankedByTheMeanOfTheirSeeds) {
  const v1::Sweep sweep = SampleSweep({3.0, 3.2, 2.0, 2.2, std::nullopt, std::nullopt});
  const std::vector<Candidate> candidates = RankCandidates(sweep);
  ASSERT_EQ(candidates.size(), 3U);
  EXPECT_EQ(candidates[0].keys.at("optimizer.lr"), "3e-3");
  EXPECT_DOUBLE_EQ(candidates[0].mean, 2.1);
  EXPECT_NEAR(*candidates[0].deviation, 0.1414, 1e-4);
  EXPECT_EQ(candidates[1].keys.at("optimizer.lr"), "1e-3");
  EXPECT_FALSE(candidates[2].has_loss());
  EXPECT_EQ(BestTrial(candidates)->number(), 3);
}

TEST(SweepRanking, TheSeedsNoiseDecidesWhetherADifferenceIsClear) {
  const v1::Sweep clear = SampleSweep({3.0, 3.001, 2.0, 2.001, {}, {}});
  const std::vector<Candidate> far = RankCandidates(clear);
  EXPECT_TRUE(Compare(far[0], far[1]).is_clear());
  const v1::Sweep close = SampleSweep({2.1, 2.3, 2.0, 2.25, {}, {}});
  const std::vector<Candidate> near = RankCandidates(close);
  const MeanDifference difference = Compare(near[0], near[1]);
  EXPECT_NEAR(difference.difference, 0.075, 1e-9);
  EXPECT_FALSE(difference.is_clear());
  const v1::Sweep single = SampleSweep({2.1, {}, 2.0, {}, {}, {}});
  const std::vector<Candidate> one = RankCandidates(single);
  EXPECT_FALSE(Compare(one[0], one[1]).standard_error);
  EXPECT_FALSE(Compare(one[0], one[1]).is_clear());
}

TEST(SweepRanking, ThoseThatTrainedTheFurthestComeFirst) {
  v1::Sweep sweep = SampleSweep({2.5, 2.6, 2.0, 2.1, {}, {}});
  for (v1::SweepTrial& trial : *sweep.mutable_trials()) trial.set_full_steps(300);
  sweep.mutable_trials(0)->set_target_steps(300);
  const std::vector<Candidate> candidates = RankCandidates(sweep);
  EXPECT_EQ(candidates[0].keys.at("optimizer.lr"), "1e-3");
  EXPECT_EQ(candidates[0].ranked.size(), 1U) << "the other seed has fewer steps";
  EXPECT_EQ(BestTrial(candidates)->number(), 1);
}

// Equal tokens are fewer steps of a larger batch.
TEST(SweepRanking, WholeBudgetsOfDifferentStepsAreComparedByLoss) {
  v1::Sweep sweep = SampleSweep({2.0, 2.1, 2.5, 2.6, {}, {}});
  for (const int index : {0, 1}) {
    sweep.mutable_trials(index)->set_target_steps(50);
    sweep.mutable_trials(index)->set_full_steps(50);
  }
  const std::vector<Candidate> candidates = RankCandidates(sweep);
  EXPECT_EQ(candidates[0].steps, 50);
  EXPECT_EQ(candidates[1].steps, 100);
  EXPECT_EQ(candidates[0].share, candidates[1].share);
}

TEST(SweepRanking, AStoppedTrialCountsWithTheStepsThatItTrained) {
  v1::Sweep sweep = SampleSweep({2.0, {}, 3.0, {}, {}, {}});
  sweep.mutable_trials(0)->set_state(v1::TRIAL_STATE_STOPPED);
  sweep.mutable_trials(0)->set_step(40);
  EXPECT_EQ(StepsOf(sweep.trials(0)), 40);
  EXPECT_EQ(StepsOf(sweep.trials(2)), 100);
  EXPECT_EQ(BestTrial(RankCandidates(sweep))->number(), 3);
}

TEST(SweepRanking, NoLossMeansNoBest) {
  const v1::Sweep sweep = SampleSweep({{}, {}, {}, {}, {}, {}});
  EXPECT_EQ(BestTrial(RankCandidates(sweep)), nullptr);
  EXPECT_EQ(BestTrial({}), nullptr);
}

TEST(SweepRanking, StepsAreCountedWithAndWithoutEarlyStopping) {
  v1::Sweep sweep = SampleSweep({{}, {}, {}, {}, {}, {}});
  sweep.mutable_trials(0)->set_step(20);
  EXPECT_EQ(CountSteps(sweep).trained, 520);
  EXPECT_EQ(CountSteps(sweep).full, 600);
}

}  // namespace
}  // namespace gp::client
