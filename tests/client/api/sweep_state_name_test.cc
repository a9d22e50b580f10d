#include "client/api/sweep_state_name.h"

#include <gtest/gtest.h>

namespace gp::client {
namespace {

TEST(SweepStateName, EveryStateHasAName) {
  for (int state = v1::SWEEP_STATE_RUNNING; state <= v1::SweepState_MAX; ++state) {
    EXPECT_NE(StateName(static_cast<v1::SweepState>(state)), "unknown") << state;
  }
  for (int state = v1::TRIAL_STATE_WAITING; state <= v1::TrialState_MAX; ++state) {
    EXPECT_NE(StateName(static_cast<v1::TrialState>(state)), "unknown") << state;
  }
  EXPECT_EQ(StateName(v1::TRIAL_STATE_LIVE), "running");
  EXPECT_EQ(StateName(v1::TRIAL_STATE_UNSPECIFIED), "unknown");
}

TEST(SweepStateName, ASweepThatIsCancelledHasEndedOnceItsTrialsHave) {
  EXPECT_FALSE(HasEnded(v1::SWEEP_STATE_RUNNING));
  EXPECT_FALSE(HasEnded(v1::SWEEP_STATE_CANCELLING));
  EXPECT_TRUE(HasEnded(v1::SWEEP_STATE_CANCELLED));
  EXPECT_TRUE(HasEnded(v1::SWEEP_STATE_FAILED));
}

}  // namespace
}  // namespace gp::client
