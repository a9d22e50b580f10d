#include "worker/engine/step/divergence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gp::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A training with a vocabulary of 256 tokens: ln 256 = 5.545.
class DivergenceTest : public testing::Test {
 protected:
  std::optional<std::string> Step(double loss, std::optional<double> validation_loss = {}) {
    return divergence_.Observe(++step_, loss, validation_loss, /*last=*/false);
  }
  // The number of warnings during `steps` steps with this loss.
  int Warnings(int64_t steps, double loss) {
    int warnings = 0;
    for (int64_t i = 0; i < steps; ++i) warnings += Step(loss).has_value() ? 1 : 0;
    return warnings;
  }

  int64_t step_ = 0;
  Divergence divergence_{256};
};

// Case runs-and-service/27: a run with a validation loss of 9906 nats was reported as a success.
TEST_F(DivergenceTest, NamesTheLossTheStepAndTheWayOut) {
  EXPECT_EQ(Warnings(599, 5.0), 0);
  const std::string warning = Step(5.0, 9906.0).value_or("");
  EXPECT_THAT(warning, StartsWith("diverged: the validation loss 9906 at step 600 is far above "
                                  "ln(256) = 5.545, that of a uniform guess"));
  EXPECT_THAT(warning, HasSubstr("lower optimizer.lr"));
}

TEST_F(DivergenceTest, WarnsOnceAndSaysWhenTheLossIsLowAgain) {
  EXPECT_EQ(Warnings(300, 3.0), 0);
  EXPECT_EQ(Warnings(500, 50.0), 1);
  std::string recovered;
  for (int i = 0; i < 500; ++i) recovered += Step(3.0).value_or("");
  EXPECT_THAT(recovered, StartsWith("recovered: the training loss 3 at step "));
  EXPECT_EQ(Warnings(500, 50.0), 1);
}

// A run of 60 steps with a learning rate of 10 was reported as a success.
TEST_F(DivergenceTest, AShortRunIsJudgedAtItsEnd) {
  EXPECT_EQ(Warnings(59, 7061), 0);
  EXPECT_THAT(divergence_.Observe(60, 7061, 6558, /*last=*/true).value_or(""),
              StartsWith("diverged: the validation loss 6558 at step 60 is far above ln(256)"));
  EXPECT_THAT(Divergence(256).Observe(1, 50, {}, /*last=*/true).value_or(""),
              StartsWith("diverged: the training loss 50 at step 1"));
  EXPECT_EQ(Divergence(256).Observe(1, 5.6, 5.6, /*last=*/true), std::nullopt);
}

TEST_F(DivergenceTest, TheSecondEvaluationIsJudgedInTheFirstSteps) {
  EXPECT_FALSE(Step(9, 40.0)) << "weights of another vocabulary may begin like this";
  EXPECT_TRUE(Step(9, 30.0));
}

TEST_F(DivergenceTest, LosingHalfOfWhatWasLearnedIsOne) {
  EXPECT_EQ(Warnings(300, 1.0), 0);
  EXPECT_EQ(Warnings(300, 3.0), 0);
  std::string warning;
  for (int i = 0; i < 300; ++i) warning += Step(5.0).value_or("");
  EXPECT_THAT(warning, StartsWith("diverged: the training loss 5 at step "));
  EXPECT_THAT(warning, HasSubstr("is far above 1, its lowest value; lower optimizer.lr"));
}

TEST_F(DivergenceTest, TheFirstStepsMayHaveAnyLoss) {
  EXPECT_EQ(Warnings(Divergence::kStepsBefore, 60.0), 0);
}

TEST_F(DivergenceTest, ASpikeOfOneStepIsNone) {
  EXPECT_EQ(Warnings(300, 3.0), 0);
  for (const double spike : {60.0, 1e9, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(Warnings(1, spike), 0) << spike;
    EXPECT_EQ(Warnings(300, 3.0), 0) << spike;
  }
}

TEST_F(DivergenceTest, AUniformGuessIsNone) { EXPECT_EQ(Warnings(1000, std::log(256.0) + 0.9), 0); }

TEST_F(DivergenceTest, ALossThatIsNoNumberIsOne) {
  EXPECT_EQ(Warnings(200, 3.0), 0);
  EXPECT_TRUE(Step(3.0, std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace
}  // namespace gp::engine
