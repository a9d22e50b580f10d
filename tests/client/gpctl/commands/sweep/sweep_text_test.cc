#include "client/gpctl/commands/sweep/sweep_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/api/sample_sweep.h"

namespace gp::gpctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SweepText, ShowsTheRankingAndWhatItsDifferencesShow) {
  v1::Sweep sweep = client::SampleSweep({2.1, 2.3, 2.0, 2.25, 4.0, std::nullopt});
  sweep.mutable_trials(5)->set_state(v1::TRIAL_STATE_FAILED);
  sweep.mutable_trials(5)->set_reason("the loss is not finite");
  EXPECT_EQ(
      SweepDetails(sweep, {}),
      "sweep       rates: succeeded (6 of 6 trials have a validation loss)\n"
      "trials      6 of 6 have ended; 2 at a time\n"
      "early stop  none\n"
      "steps       600 trained of 600\n"
      "\n"
      "RANK  optimizer.lr  VAL_LOSS  SPREAD  VS BEST          STEPS  TRIALS  STATE\n"
      "   1          3e-3    2.1250  0.1768                     100  3,4     done\n"
      "   2          1e-3    2.2000  0.1414  +0.0750 (noise)    100  1,2     done\n"
      "   3          1e-1    4.0000       -  +1.8750            100  5,6     1 done, 1 failed\n"
      "\n"
      "Ranks 1 and 2 differ by +0.0750, standard error 0.1601, 95 % interval -1.9596 to "
      "+2.1096: within the noise of the seeds.\n"
      "\n"
      "trial 6 (optimizer.lr=1e-1, seed=2) failed: the loss is not finite\n");
}

TEST(SweepText, TellsWhatEarlyStoppingSaved) {
  v1::Sweep sweep = client::SampleSweep({2.0, 2.1, 3.0, 3.1, 4.0, 4.1});
  sweep.set_early_stop("halving");
  sweep.set_eta(3);
  for (const int64_t steps : {10, 30, 100}) sweep.add_rungs(steps);
  for (int index = 1; index < 6; ++index) {
    sweep.mutable_trials(index)->set_step(10);
    sweep.mutable_trials(index)->set_target_steps(10);
  }
  const std::string text = SweepDetails(sweep, {});
  EXPECT_THAT(text, HasSubstr("halving: the best 1 of 3 go on at steps 10, 30, up to 100\n"));
  EXPECT_THAT(text, HasSubstr("150 trained of 600; early stopping saved 75.0%\n"));
  EXPECT_THAT(text, HasSubstr("fewer steps"));
  EXPECT_THAT(text, HasSubstr("Rank 1 trained further than rank 2"));
}

TEST(SweepText, OneSeedHasUnknownNoise) {
  v1::Sweep sweep = client::SampleSweep({2.0, {}, 3.0, {}, {}, {}});
  EXPECT_THAT(SweepDetails(sweep, {}), HasSubstr("1 seed of rank 1 and 1 seed of rank 2 got this "
                                                 "far: the noise of the seeds is unknown."));
  for (const int second : {5, 3, 1}) sweep.mutable_trials()->DeleteSubrange(second, 1);
  EXPECT_THAT(SweepDetails(sweep, {}), HasSubstr("One seed each: the noise of seeds is unknown."));
}

TEST(SweepText, ARankingWithoutDeletedTrialsSaysSo) {
  v1::Sweep sweep = client::SampleSweep({{}, 2.1, 3.0, 3.1, {}, {}});
  sweep.mutable_trials(0)->set_state(v1::TRIAL_STATE_DELETED);
  const std::string words = "The ranking is without 1 trial, which was deleted.";
  EXPECT_THAT(SweepDetails(sweep, {}), HasSubstr(words));
  EXPECT_THAT(BestText(sweep, {}), HasSubstr(words));
}

TEST(SweepText, TrialsOfACancelledSweepWereNotStarted) {
  v1::Sweep sweep = client::SampleSweep({2.0, 2.0, {}, {}, {}, {}});
  sweep.set_state(v1::SWEEP_STATE_CANCELLED);
  for (int index = 2; index < 6; ++index) {
    sweep.mutable_trials(index)->set_state(v1::TRIAL_STATE_WAITING);
  }
  EXPECT_THAT(SweepDetails(sweep, {}), HasSubstr("not started"));
  EXPECT_THAT(SweepDetails(sweep, {}), Not(HasSubstr("waiting")));
}

TEST(SweepText, TheBestTrialHasItsKeys) {
  const v1::Sweep sweep = client::SampleSweep({3.0, 3.2, 2.0, 2.2, {}, {}});
  EXPECT_THAT(BestText(sweep, {}),
              HasSubstr("rates-3 (trial 3 of rates): val_loss 2.0000 at step 100\n"
                        "  optimizer.lr: 3e-3\n  seed: 1\n"
                        "  mean of 2 seeds 2.1000, standard deviation 0.1414\n"));
}

TEST(SweepText, AListHasALineForEach) {
  v1::Sweep other = client::SampleSweep({{}, {}, {}, {}, {}, {}});
  other.set_namespace_("team");
  const std::string table = SweepTable({client::SampleSweep({{}, {}, {}, {}, {}, {}}), other}, {});
  EXPECT_THAT(table, HasSubstr("\nrates "));
  EXPECT_THAT(table, HasSubstr("\nteam/rates "));
}

}  // namespace
}  // namespace gp::gpctl
