// Goal: rounding, conversion and linear combination of flat buffers equal plain loops, for any
// count and alignment.
#include "worker/engine/backend/cuda/kernels/flat.h"

#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/cuda/kernels/rounding_reference.h"

namespace gp::engine {
namespace {

class FlatKernel : public DeviceTest {};

constexpr int64_t kCounts[] = {1, 3, 4, 1024, 1501};

// Values of every magnitude that a 16-bit type has, including subnormal numbers.
std::vector<float> WideValues(int64_t count) {
  std::vector<float> values = NormalValues(count, 1);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::ldexp(values[i], static_cast<int>(i % 40) - 26);
  }
  return values;
}

TEST_F(FlatKernel, RoundsToNearestAndStochastically) {
  for (const int64_t count : kCounts) {
    for (const int64_t offset : {0, 1}) {
      for (const DataType type : {DataType::kBfloat16, DataType::kFloat16}) {
        for (const bool on : {false, true}) {
          const StochasticRounding rounding{.on = on, .key = 0xfedcba9876543210u, .first = 5};
          const DeviceArray in(WideValues(count + offset), DataType::kFloat32);
          const DeviceArray out = Unwritten(count + offset, type);
          LaunchRound(count, out.buffer().From(offset), in.f32() + offset, rounding, nullptr);
          const std::vector<float> rounded = out.Get();
          for (int64_t i = 0; i < count; ++i) {
            ASSERT_EQ(rounded[static_cast<size_t>(i + offset)],
                      RoundedByTheBook(in.at(i + offset), type, rounding, i))
                << "value " << in.at(i + offset) << " at " << i << " of " << count << ", type "
                << static_cast<int>(type) << ", stochastic " << on;
          }
        }
      }
    }
  }
}

TEST_F(FlatKernel, RoundingKeepsWhatIsNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const DataType type : {DataType::kBfloat16, DataType::kFloat16}) {
    const DeviceArray in({infinity, -infinity, std::nanf(""), 0.0f, -0.0f}, DataType::kFloat32);
    const DeviceArray out = Unwritten(5, type);
    LaunchRound(5, out.buffer(), in.f32(), {.on = true, .key = ~uint64_t{0}}, nullptr);
    const std::vector<float> rounded = out.Get();
    EXPECT_EQ(rounded[0], infinity);
    EXPECT_EQ(rounded[1], -infinity);
    EXPECT_TRUE(std::isnan(rounded[2]));
    EXPECT_EQ(rounded[3], 0);
    EXPECT_TRUE(std::signbit(rounded[4]));
  }
}

TEST_F(FlatKernel, ConvertsBetweenAllTypes) {
  for (const DataType from : kDataTypes) {
    for (const DataType to : kDataTypes) {
      for (const int64_t count : kCounts) {
        const DeviceArray in(WideValues(count), from);
        const DeviceArray out = Unwritten(count, to);
        LaunchConvert(count, out.buffer(), in.buffer(), nullptr);
        const std::vector<float> converted = out.Get();
        for (int64_t i = 0; i < count; ++i) {
          const float expected =
              to == DataType::kFloat32 ? in.at(i) : FromBits(ToBits(in.at(i), to), to);
          ASSERT_EQ(converted[static_cast<size_t>(i)], expected);
        }
      }
    }
  }
}

TEST_F(FlatKernel, AddsTwoScaledBuffersOrScalesOne) {
  for (const int64_t count : kCounts) {
    for (const int64_t offset : {0, 3}) {
      const DeviceArray x(NormalValues(count + offset, 1), DataType::kFloat32);
      const DeviceArray y(NormalValues(count + offset, 2), DataType::kFloat32);
      const DeviceArray out = Unwritten(count + offset, DataType::kFloat32);
      LaunchAxpby(count, out.f32() + offset, 0.3f, x.f32() + offset, -1.7f, y.f32() + offset,
                  nullptr);
      LaunchAxpby(count, x.f32() + offset, 3, x.f32() + offset, 0, nullptr, nullptr);
      const std::vector<float> combined = out.Get();
      const std::vector<float> scaled = x.Get();
      for (int64_t i = offset; i < count + offset; ++i) {
        // Volatile prevents a fused multiply-add here, too.
        const volatile float a = 0.3f * x.at(i);
        const volatile float b = -1.7f * y.at(i);
        ASSERT_EQ(combined[static_cast<size_t>(i)], a + b);
        ASSERT_EQ(scaled[static_cast<size_t>(i)], 3 * x.at(i));
      }
    }
  }
}

}  // namespace
}  // namespace gp::engine
