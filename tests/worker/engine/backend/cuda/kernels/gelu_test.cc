// Goal: both forms of GELU and their derivatives equal the formula in double over the whole range,
// in all types, in place and out of place.
#include "worker/engine/backend/cuda/kernels/gelu.h"

#include <numbers>

#include "worker/engine/backend/cuda/device_array.h"

namespace gp::engine {
namespace {

class GeluKernel : public DeviceTest {};

double TanhGelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}
double ErfGelu(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }

struct GeluForm {
  runspec::Gelu kind;
  double (*exact)(double x);
};
constexpr GeluForm kForms[] = {{runspec::Gelu::kErf, ErfGelu}, {runspec::Gelu::kTanh, TanhGelu}};

std::vector<float> Points(int64_t count) {
  std::vector<float> points;
  for (int64_t i = 0; i < count; ++i) {
    points.push_back(-12 + 24 * static_cast<float>(i) / static_cast<float>(count));
  }
  return points;
}

TEST_F(GeluKernel, EqualsTheFormula) {
  for (const GeluForm& form : kForms) {
    for (const DataType type : kDataTypes) {
      for (const int64_t offset : {0, 1}) {
        const int64_t count = 5003;
        const DeviceArray in(Points(count + offset), type);
        const DeviceArray out = Unwritten(count + offset, type);
        LaunchGeluForward(count, form.kind, out.buffer().From(offset), in.buffer().From(offset),
                          nullptr);
        const std::vector<float> results = out.Get();
        for (int64_t i = offset; i < count + offset; ++i) {
          const double expected = form.exact(in.at(i));
          ASSERT_NEAR(results[static_cast<size_t>(i)], expected, DeviceTolerance(type, expected))
              << in.at(i);
        }
      }
    }
  }
}

TEST_F(GeluKernel, MultipliesByTheDerivative) {
  for (const GeluForm& form : kForms) {
    for (const DataType type : kDataTypes) {
      const int64_t count = 5003;
      const DeviceArray in(Points(count), type);
      const DeviceArray dy(std::vector<float>(static_cast<size_t>(count), 2), type);
      LaunchGeluBackward(count, form.kind, dy.buffer(), in.buffer(), nullptr);
      const std::vector<float> results = dy.Get();
      for (int64_t i = 0; i < count; ++i) {
        const double x = in.at(i);
        const double expected = (form.exact(x + 1e-5) - form.exact(x - 1e-5)) / 1e-5;
        ASSERT_NEAR(results[static_cast<size_t>(i)], expected, DeviceTolerance(type, expected))
            << x;
      }
    }
  }
}

TEST_F(GeluKernel, MayOverwriteItsInput) {
  const DeviceArray array(Points(100), DataType::kBfloat16);
  LaunchGeluForward(100, runspec::Gelu::kTanh, array.buffer(), array.buffer(), nullptr);
  const std::vector<float> results = array.Get();
  for (int64_t i = 0; i < 100; ++i) {
    ASSERT_NEAR(results[static_cast<size_t>(i)], TanhGelu(array.at(i)), 0.05);
  }
}

}  // namespace
}  // namespace gp::engine
