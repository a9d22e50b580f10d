#include "client/gpctl/commands/sweep/sweep_json.h"

#include <gtest/gtest.h>

#include "client/api/sample_sweep.h"

namespace gp::gpctl {
namespace {

TEST(SweepJson, HasTheNumbersOfTrialsAndCandidates) {
  const Json fields = SweepFields(client::SampleSweep({3.0, 3.2, 2.0, 2.2, {}, {}}));
  EXPECT_EQ(fields["name"], "rates");
  EXPECT_EQ(fields["state"], "succeeded");
  EXPECT_EQ(fields["steps_trained"], 600);
  EXPECT_FALSE(fields.contains("rungs"));
  EXPECT_EQ(fields["candidates"][0]["keys"]["optimizer.lr"], "3e-3");
  EXPECT_EQ(fields["candidates"][0]["trials"], (std::vector<int>{3, 4}));
  EXPECT_FALSE(fields["candidates"][2].contains("val_loss_mean"));
  EXPECT_EQ(fields["trials"][0]["val_loss"], 3.0);
  EXPECT_FALSE(fields["trials"][4].contains("val_loss"));
  EXPECT_EQ(fields["trials"][4]["run_name"], "rates-5");
}

TEST(SweepJson, ATrialThatWaitsHasNoRun) {
  v1::SweepTrial trial;
  trial.set_number(1);
  trial.set_state(v1::TRIAL_STATE_WAITING);
  const Json fields = TrialFields(trial);
  EXPECT_EQ(fields["state"], "waiting");
  EXPECT_FALSE(fields.contains("run_id"));
}

}  // namespace
}  // namespace gp::gpctl
