// Goal: rows are scaled by the running size of their updates while the whole norm stays; cautious
// decay leaves weights alone that the update moves away from 0.
#include "worker/engine/optim/matrix_options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "worker/engine/backend/cpu/cpu_backend.h"

namespace gp::engine {
namespace {

TEST(MuonOptions, ScaleRowsByTheirRunningSizeAndKeepTheNorm) {
  const auto backend = MakeCpuBackend({});
  std::vector<float> values = {3, 4, 0, 0, 0, 0, 6, 8, 0};
  std::vector<float> means(9), factors(3);
  const Matrix matrix{values.data(), 3, 3};
  for (int i = 0; i < 2; ++i) ScaleRows(*backend, matrix, 0.9, means.data(), factors.data());
  // The first call makes both rows equally long, the second finds the first one shorter so far.
  const double first = 62.5;  // squared length of each row after the first call
  const double mean0 = 0.9 * 0.1 * 25 / 3 + 0.1 * first / 3;
  const double mean2 = 0.9 * 0.1 * 100 / 3 + 0.1 * first / 3;
  EXPECT_NEAR(means[0], mean0, 1e-4);
  EXPECT_NEAR(means[6], mean2, 1e-4);
  const double norm = 125 / (first / mean0 + first / mean2);
  EXPECT_NEAR(values[0], 3.0 / 5 * std::sqrt(first / mean0 * norm), 1e-4);
  EXPECT_NEAR(values[7], 4.0 / 5 * std::sqrt(first / mean2 * norm), 1e-4);
  EXPECT_EQ(values[4], 0);
}

TEST(MuonOptions, DecayOnlyWhereTheUpdateMovesTowardsZero) {
  std::vector<float> update = {1, -1, 1, -1, 0};
  std::vector<float> weight = {2, -2, -2, 2, 2};
  StepCautiously({update.data(), 1, 5}, 0.5f, 0.25f, weight.data());
  EXPECT_EQ(weight, (std::vector<float>{0.75f, -0.75f, -2.25f, 2.25f, 2}));
}

}  // namespace
}  // namespace gp::engine
