// Goal: the device computes the gradient factor with the same bits as the host.
#include "worker/engine/backend/cuda/kernels/gradient_factor.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/gradient_factor.h"

namespace gp::engine {
namespace {

class GradientFactorKernel : public DeviceTest {
 protected:
  static float Decided(double sum_of_squares, const std::vector<double>& losses, double norm_max,
                       float loss_scale) {
    const DeviceValues<double> sum({sum_of_squares});
    const DeviceValues<double> all(losses);
    const DeviceValues<float> factor({0});
    LaunchGradientFactor({.factor = factor.data(),
                          .sum_of_squares = sum.data(),
                          .losses = all.data(),
                          .loss_count = std::ssize(losses),
                          .norm_max = norm_max,
                          .loss_scale = loss_scale},
                         nullptr);
    return factor.Get()[0];
  }
};

TEST_F(GradientFactorKernel, HasTheBitsOfTheHost) {
  const std::vector<double> losses = {1.5, 2.25, 0};
  for (const double sum : {0.0, 1e-300, 0.3, 1.0, 7.0, 123456.789, 1e300}) {
    for (const double norm_max : {0.0, 0.7, 1.0}) {
      for (const float scale : {1.0f, 65536.0f}) {
        const float expected = FactorOf({.sum_of_squares = &sum,
                                         .losses = losses.data(),
                                         .loss_count = std::ssize(losses),
                                         .norm_max = norm_max,
                                         .loss_scale = scale});
        EXPECT_EQ(std::bit_cast<uint32_t>(Decided(sum, losses, norm_max, scale)),
                  std::bit_cast<uint32_t>(expected))
            << sum << " at most " << norm_max << ", scale " << scale;
      }
    }
  }
}

TEST_F(GradientFactorKernel, IsNoneWhereSomethingIsNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isnan(Decided(infinity, {1}, 1, 1)));
  EXPECT_TRUE(std::isnan(Decided(4, {1, std::nan("")}, 1, 1)));
  EXPECT_TRUE(std::isnan(Decided(4, {-infinity, 1}, 0, 1)));
}

}  // namespace
}  // namespace gp::engine
