// Goal: FLOPs count exactly the work that is done, and MFU is its share of the peak.
#include "plan/flops.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/run_spec.h"

namespace gp::runspec {
namespace {

ModelShape Gpt2Small() { return *NamedModelShape("124M"); }

TrainedParts OnlyTraining(const std::vector<std::string>& train) {
  RunSpec spec;
  spec.model = Gpt2Small();
  spec.train = train;
  return TrainedPartsOf(spec);
}

TEST(Flops, CountTheWorkThatIsDone) {
  EXPECT_NEAR(TrainingFlopsPerToken(Gpt2Small(), 1024) / 1e6, 807.5, 0.05);
  const double block = 2 * 12 * 768.0 * 768, head = 2 * 50304 * 768.0, attention = 768 * 1025.0;
  // Forward: everything. Backward: the gradient of the head's input, and of two blocks' inputs and
  // weights.
  EXPECT_DOUBLE_EQ(
      TrainingFlopsPerToken(Gpt2Small(), 1024, OnlyTraining({"last 2 blocks", "ln_f"})),
      (12 + 2 + 2) * block + 2 * head + (12 * 2 + 2 * 5) * attention);
  EXPECT_DOUBLE_EQ(TrainingFlopsPerToken(Gpt2Small(), 1024, OnlyTraining({"wte"})),
                   (12 + 12) * block + 3 * head + 12 * 7 * attention);
}

TEST(Flops, MfuIsThePartOfThePeakThatTheModelUses) {
  EXPECT_EQ(ModelFlopsUtilization(1000, 2e6, 8e9), 0.25);
}

}  // namespace
}  // namespace gp::runspec
