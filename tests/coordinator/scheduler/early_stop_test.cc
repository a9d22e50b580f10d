// Goal: halving promotes the best of a rung, and the median rule stops only clear losers.
#include "coordinator/scheduler/early_stop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/sample_sweep.h"

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;

class EarlyStopTest : public ::testing::Test {
 protected:
  void Set(int number, RunState state, const StepLosses& losses, int64_t budget = 10) {
    SweepTrial trial = spec_.trials[static_cast<size_t>(number - 1)];
    trial.submission.target_steps = budget;
    cluster_.Set(TrialRun(trial, state, losses));
  }
  TrialResults Results() const {
    TrialResults results;
    for (const SweepTrial& trial : spec_.trials) results.push_back(ResultOf(cluster_, trial));
    return results;
  }
  // "2->1": trial 2 goes on to the rung of index 1.
  std::vector<std::string> Promoted() const {
    std::vector<std::string> promoted;
    for (const Promotion& one : Promotions(Halving(), Results())) {
      promoted.push_back(fmt::format("{}->{}", one.trial + 1, one.rung));
    }
    return promoted;
  }

  const SweepSpec spec_ = FourTrials();
  Cluster cluster_;
};

using Names = std::vector<std::string>;

TEST_F(EarlyStopTest, TheBestOfARungGoOn) {
  EXPECT_EQ(Promoted(), Names());
  Set(1, RunState::kSucceeded, {{10, 3.0}});
  EXPECT_EQ(Promoted(), Names()) << "one is not enough to choose from";
  Set(2, RunState::kSucceeded, {{10, 2.0}});
  EXPECT_EQ(Promoted(), Names{"2->1"});
  Set(3, RunState::kSucceeded, {{10, 1.0}});
  EXPECT_EQ(Promoted(), Names{"3->1"});
  Set(4, RunState::kSucceeded, {{10, 4.0}});
  EXPECT_EQ(Promoted(), (Names{"3->1", "2->1"}));
}

TEST_F(EarlyStopTest, ATrialIsPromotedOnceAndTheLowestRungFirst) {
  Set(1, RunState::kSucceeded, {{10, 2.2}});
  Set(2, RunState::kSucceeded, {{10, 2.0}, {20, 1.5}}, 20);
  Set(3, RunState::kSucceeded, {{10, 2.5}, {20, 1.8}}, 20);
  Set(4, RunState::kSucceeded, {{10, 3.0}});
  EXPECT_EQ(Promoted(), (Names{"1->1", "2->2"}));
  Set(1, RunState::kRunning, {{10, 2.2}}, 20);
  EXPECT_EQ(Promoted(), Names{"2->2"});
}

TEST_F(EarlyStopTest, ADivergedTrialIsNotPromoted) {
  Set(1, RunState::kSucceeded, {{10, kNotANumber}});
  Set(2, RunState::kSucceeded, {{10, kNotANumber}});
  Set(3, RunState::kFailed, {});
  EXPECT_EQ(Promoted(), Names());
}

TEST_F(EarlyStopTest, TheMedianRuleStopsLosers) {
  for (int number = 1; number <= 3; ++number) {
    Set(number, RunState::kRunning, {{5, 5.0}, {10, 1.0 * number}});
  }
  Set(4, RunState::kRunning, {{5, 9.0}, {10, 2.5}});
  EXPECT_THAT(WhyStopped(MedianFrom(10), Results(), 3),
              HasSubstr("its lowest val_loss 2.5000 at step 10 is above 2.0000, the median of 3"));
  EXPECT_EQ(WhyStopped(MedianFrom(10), Results(), 0), "");
  EXPECT_EQ(WhyStopped(MedianFrom(11), Results(), 3), "") << "too early";
  EXPECT_EQ(WhyStopped({}, Results(), 3), "");
}

TEST_F(EarlyStopTest, TheMedianRuleNeedsThreeOthersAtTheStep) {
  Set(1, RunState::kSucceeded, {{10, 1.0}});
  Set(2, RunState::kRunning, {{10, 1.0}});
  Set(3, RunState::kRunning, {{5, 1.0}});
  Set(4, RunState::kRunning, {{10, 9.0}});
  EXPECT_EQ(WhyStopped(MedianFrom(1), Results(), 3), "");
  Set(3, RunState::kRunning, {{10, 1.0}});
  EXPECT_NE(WhyStopped(MedianFrom(1), Results(), 3), "");
  Set(4, RunState::kRunning, {{10, kNotANumber}});
  EXPECT_NE(WhyStopped(MedianFrom(1), Results(), 3), "") << "NaN is the worst loss";
  Set(4, RunState::kSucceeded, {{10, 9.0}});
  EXPECT_EQ(WhyStopped(MedianFrom(1), Results(), 3), "") << "it has ended";
}

}  // namespace
}  // namespace gp::coordinator
