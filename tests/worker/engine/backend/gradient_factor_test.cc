// Goal: a gradient is clipped as in PyTorch, divided by the loss scale, and rejected as a whole if
// any value is not finite.
#include "worker/engine/backend/gradient_factor.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace gp::engine {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

float Factor(double sum_of_squares, std::vector<double> losses, double norm_max,
             float loss_scale = 1, double loss_sum_max = kInfinity) {
  return FactorOf({.sum_of_squares = &sum_of_squares,
                   .losses = losses.data(),
                   .loss_count = std::ssize(losses),
                   .norm_max = norm_max,
                   .loss_scale = loss_scale,
                   .loss_sum_max = loss_sum_max});
}

TEST(GradientFactor, ClipsAsTorchDoesAndNotAtZero) {
  EXPECT_FLOAT_EQ(ClipCoefficient(4, 1), static_cast<float>(1 / (4 + 1e-6)));
  EXPECT_EQ(ClipCoefficient(0.5, 1), 1);
  EXPECT_EQ(ClipCoefficient(1e9, 0), 1);
  EXPECT_EQ(Factor(16, {1}, 1), ClipCoefficient(4, 1));
  EXPECT_EQ(Factor(16, {1, 2}, 0), 1);
}

TEST(GradientFactor, UndoesTheLossScaleBehindTheNorm) {
  EXPECT_EQ(Factor(16 * 1024.0 * 1024.0, {1}, 1, 1024), ClipCoefficient(4, 1) / 1024);
  EXPECT_EQ(Factor(0.25 * 1024.0 * 1024.0, {1}, 1, 1024), 1.0f / 1024);
}

TEST(GradientFactor, IsNoneWhereTheNormOrALossIsNotFinite) {
  for (const double value : {kInfinity, -kInfinity, std::nan("")}) {
    EXPECT_TRUE(std::isnan(Factor(value, {1}, 1)));
    EXPECT_TRUE(std::isnan(Factor(4, {value}, 1)));
    EXPECT_TRUE(std::isnan(Factor(4, {1, 2, value}, 0)));
  }
}

TEST(GradientFactor, IsNoneWhereTheLossesAddUpToMoreThanTheirLimit) {
  EXPECT_EQ(Factor(16, {1, 2, 4}, 0, 1, 7), 1);
  EXPECT_TRUE(std::isnan(Factor(16, {1, 2, 5}, 0, 1, 7)));
}

}  // namespace
}  // namespace gp::engine
