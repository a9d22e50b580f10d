// Goal: the sum of squares is exact up to double rounding for any count and alignment, has the same
// bits every time, and is non-finite exactly if an input is.
#include "worker/engine/backend/cuda/kernels/sum_of_squares.h"

#include "worker/engine/backend/cuda/device_array.h"

namespace gp::engine {
namespace {

class SumOfSquaresKernel : public DeviceTest {
 protected:
  double Sum(const float* values, int64_t count) {
    if (scratch_ == nullptr) {
      scratch_ = std::make_unique<DeviceValues<double>>(kSumOfSquaresScratch, std::nan(""));
      sum_ = std::make_unique<DeviceValues<double>>(1, std::nan(""));
    }
    LaunchSumOfSquares(sum_->data(), values, count, scratch_->data(), nullptr);
    return sum_->Get()[0];
  }

 private:
  std::unique_ptr<DeviceValues<double>> scratch_;
  std::unique_ptr<DeviceValues<double>> sum_;
};

TEST_F(SumOfSquaresKernel, IsExactForIntegers) {
  // A block handles 4096 values; the last case needs more than all blocks at once, so blocks loop.
  for (const int64_t count : {0, 1, 3, 4, 4095, 4096, 10007, 5000011}) {
    for (const int64_t offset : {0, 1}) {
      std::vector<float> values(static_cast<size_t>(count + offset));
      double expected = 0;
      for (int64_t i = 0; i < count; ++i) {
        const auto value = static_cast<float>(i % 2001 - 1000);
        values[static_cast<size_t>(i + offset)] = value;
        expected += double{value} * value;
      }
      if (values.empty()) values.push_back(7);
      const DeviceArray array(values, DataType::kFloat32);
      EXPECT_EQ(Sum(array.f32() + offset, count), expected) << count << " behind " << offset;
    }
  }
}

TEST_F(SumOfSquaresKernel, DependsOnTheCountAloneInItsOrder) {
  const std::vector<float> values = NormalValues(100003, 1);
  std::vector<float> shifted(values.size() + 1);
  std::copy(values.begin(), values.end(), shifted.begin() + 1);
  const DeviceArray aligned(values, DataType::kFloat32);
  const DeviceArray unaligned(shifted, DataType::kFloat32);
  const double sum = Sum(aligned.f32(), aligned.size());
  EXPECT_EQ(Sum(aligned.f32(), aligned.size()), sum);
  EXPECT_EQ(Sum(unaligned.f32() + 1, aligned.size()), sum);
}

TEST_F(SumOfSquaresKernel, FindsWhatIsNotFinite) {
  std::vector<float> values(9001, 3.4e38f);
  EXPECT_TRUE(std::isfinite(Sum(DeviceArray(values, DataType::kFloat32).f32(), 9001)));
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    values[8999] = bad;
    EXPECT_FALSE(std::isfinite(Sum(DeviceArray(values, DataType::kFloat32).f32(), 9001)));
  }
}

}  // namespace
}  // namespace gp::engine
