// Goal: maxima and 8-bit operands are exact: every code, also in the transposed copy, is that of
// the nearest value of the format, found by search, for all sizes.
#include "worker/engine/backend/cuda/kernels/fp8.h"

#include <limits>

#include "worker/engine/backend/cuda/device_array.h"

namespace gp::engine {
namespace {

class Fp8Kernel : public DeviceTest {};

constexpr Fp8Format kFormats[] = {Fp8Format::kE4m3, Fp8Format::kE5m2};

// The magnitude of a code by the definition of the format; NaN above the largest.
double MagnitudeOf(unsigned code, Fp8Format format) {
  const int mantissa_bits = format == Fp8Format::kE4m3 ? 3 : 2;
  const int bias = format == Fp8Format::kE4m3 ? 7 : 15;
  const unsigned largest = format == Fp8Format::kE4m3 ? 0x7e : 0x7b;
  if (code > largest) return std::nan("");
  const int exponent = static_cast<int>(code >> mantissa_bits);
  const double fraction = (code & ((1u << mantissa_bits) - 1)) / std::exp2(mantissa_bits);
  return exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
}

// The code of the nearest value; of two equally near ones, the even one.
uint8_t NearestCode(float value, Fp8Format format) {
  if (std::isnan(value)) return 0x7f;
  const double magnitude = std::abs(double{value});
  unsigned best = 0;
  for (unsigned code = 1; code < 0x7f; ++code) {
    const double candidate = std::abs(MagnitudeOf(code, format) - magnitude);
    const double distance = std::abs(MagnitudeOf(best, format) - magnitude);
    if (candidate < distance || (candidate == distance && code % 2 == 0)) best = code;
  }
  return static_cast<uint8_t>(best | (std::signbit(value) ? 0x80 : 0));
}

// One tensor on the device and the 8-bit operands made from it.
class Quantized {
 public:
  Quantized(int64_t rows, int64_t columns, const std::vector<float>& values, DataType type)
      : rows_(rows), columns_(columns), in_(values, type) {}

  void Run(Fp8Format format, bool transposes) {
    LaunchAbsoluteMaximum(maximum_.data(), in_.buffer(), rows_ * columns_, nullptr);
    LaunchFp8Quantization({.rows = rows_,
                           .columns = columns_,
                           .in = in_.buffer(),
                           .maximum = maximum_.data(),
                           .format = format,
                           .out = out_.data(),
                           .transposed = transposes ? transposed_.data() : nullptr,
                           .inverse_scale = inverse_scale_.data()},
                          nullptr);
  }

  void ExpectNearest(Fp8Format format, float scale) const {
    const std::vector<uint8_t> codes = out_.Get();
    const std::vector<uint8_t> transposed = transposed_.Get();
    ASSERT_FLOAT_EQ(inverse_scale(), 1 / scale);
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t column = 0; column < columns_; ++column) {
        const int64_t at = row * columns_ + column;
        const uint8_t expected = NearestCode(in_.at(at) * scale, format);
        ASSERT_EQ(codes[static_cast<size_t>(at)], expected) << in_.at(at) * scale;
        ASSERT_EQ(transposed[static_cast<size_t>(column * rows_ + row)], expected);
      }
    }
  }

  float maximum() const { return maximum_.Get()[0]; }
  float inverse_scale() const { return inverse_scale_.Get()[0]; }
  std::vector<uint8_t> codes() const { return out_.Get(); }
  std::vector<uint8_t> transposed() const { return transposed_.Get(); }

 private:
  int64_t rows_;
  int64_t columns_;
  DeviceArray in_;
  DeviceValues<float> maximum_{1, std::nanf("")};
  DeviceValues<float> inverse_scale_{1, std::nanf("")};
  DeviceValues<uint8_t> out_{static_cast<size_t>(rows_ * columns_), 0x55};
  DeviceValues<uint8_t> transposed_{static_cast<size_t>(rows_ * columns_), 0x55};
};

struct Fp8Shape {
  int64_t rows;
  int64_t columns;
};
// Partial tiles and vectors, complete ones, and several tiles.
constexpr Fp8Shape kFp8Shapes[] = {{1, 1}, {3, 9}, {8, 16}, {64, 64}, {72, 136}, {65, 7}};

TEST_F(Fp8Kernel, RoundsEveryElementToTheNearest) {
  for (const Fp8Format format : kFormats) {
    for (const Fp8Shape& shape : kFp8Shapes) {
      for (const DataType type : kDataTypes) {
        const std::vector<float> values = NormalValues(shape.rows * shape.columns, 1, 0.1f);
        Quantized tensor(shape.rows, shape.columns, values, type);
        tensor.Run(format, true);
        const float maximum = tensor.maximum();
        tensor.ExpectNearest(format, LargestOf(format) / maximum);
      }
    }
  }
}

// Tests all values of the format, the middles between neighbours, and the floats next to these
// middles. The largest value makes the scale 1.
TEST_F(Fp8Kernel, RoundsFromTheMiddleToEven) {
  for (const Fp8Format format : kFormats) {
    std::vector<float> values = {LargestOf(format), -0.0f};
    for (unsigned code = 0; std::isfinite(MagnitudeOf(code + 1, format)); ++code) {
      const auto low = static_cast<float>(MagnitudeOf(code, format));
      const auto high = static_cast<float>(MagnitudeOf(code + 1, format));
      const float middle = (low + high) / 2;
      for (const float value :
           {low, middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)}) {
        values.push_back(value);
        values.push_back(-value);
      }
    }
    const auto count = static_cast<int64_t>(values.size());
    Quantized tensor(1, count, values, DataType::kFloat32);
    tensor.Run(format, true);
    tensor.ExpectNearest(format, 1);
  }
}

TEST_F(Fp8Kernel, WritesNoTransposedCopyUnlessAsked) {
  Quantized tensor(2, 2, {1, 2, 3, 4}, DataType::kFloat32);
  tensor.Run(Fp8Format::kE4m3, false);
  EXPECT_EQ(tensor.transposed(), (std::vector<uint8_t>(4, 0x55)));
}

TEST_F(Fp8Kernel, KeepsTheScaleFiniteForZeros) {
  Quantized zeros(2, 8, std::vector<float>(16), DataType::kBfloat16);
  zeros.Run(Fp8Format::kE4m3, true);
  EXPECT_EQ(zeros.inverse_scale(), 1);
  EXPECT_EQ(zeros.codes(), std::vector<uint8_t>(16));
  Quantized tiny(1, 2, {1e-40f, 0}, DataType::kFloat32);
  tiny.Run(Fp8Format::kE5m2, true);
  EXPECT_EQ(tiny.inverse_scale(), 1);
}

TEST_F(Fp8Kernel, ShowsWhatIsNotFinite) {
  for (const float bad : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> values(5000, 1);
    values[4321] = bad;
    Quantized tensor(10, 500, values, DataType::kBfloat16);
    tensor.Run(Fp8Format::kE4m3, true);
    EXPECT_FALSE(std::isfinite(tensor.maximum()));
    EXPECT_EQ(tensor.codes()[4321] & 0x7f, 0x7f);
    EXPECT_FALSE(std::isfinite(tensor.inverse_scale()));
  }
}

TEST_F(Fp8Kernel, FindsTheMaximumWhereverItIs) {
  for (const int64_t count : {1, 7, 2048, 5001}) {
    for (const int64_t place : {int64_t{0}, count / 2, count - 1}) {
      std::vector<float> values = NormalValues(count, 3);
      values[static_cast<size_t>(place)] = -77;
      const DeviceArray array(values, DataType::kFloat16);
      const DeviceValues<float> maximum(1, std::nanf(""));
      LaunchAbsoluteMaximum(maximum.data(), array.buffer(), count, nullptr);
      EXPECT_EQ(maximum.Get()[0], 77);
    }
  }
}

}  // namespace
}  // namespace gp::engine
