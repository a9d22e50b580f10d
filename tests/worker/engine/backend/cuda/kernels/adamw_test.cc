// Goal: one launch updates parameters and moments like torch.optim.AdamW, and rounds the working
// copy with the same random bits as the CPU, for any count and alignment.
#include "worker/engine/backend/cuda/kernels/adamw.h"

#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/cuda/kernels/rounding_reference.h"

namespace gp::engine {
namespace {

class AdamWKernel : public DeviceTest {};

// A flat range that begins `offset` values after an aligned address.
struct Range {
  int64_t count;
  int64_t offset;
};
constexpr Range kRanges[] = {{1, 0}, {3, 0}, {4, 0}, {1029, 0}, {1500, 4}, {1027, 1}};

class Update {
 public:
  Update(const Range& range, DataType working_type, float factor = 0.5f)
      : range_(range), working_type_(working_type), factor_({factor}) {}

  AdamWUpdate Args(const StochasticRounding& rounding) const {
    const int64_t o = range_.offset;
    return {.count = range_.count,
            .parameters = p_.f32() + o,
            .first_moment = m_.f32() + o,
            .second_moment = v_.f32() + o,
            .gradients = g_.f32() + o,
            .working_copy = static_cast<uint16_t*>(copy_.buffer().data) + o,
            .working_type = working_type_,
            .rounding = rounding,
            .lr = 6e-3,
            .weight_decay = 0.1,
            .step = 3,
            .factor = factor_.data()};
  }

  // Expects the state that a skipped update leaves.
  void ExpectUnchanged() const {
    for (const DeviceArray* array : {&p_, &m_, &v_}) {
      const std::vector<float> values = array->Get();
      for (int64_t i = 0; i < Size(); ++i) {
        ASSERT_EQ(values[static_cast<size_t>(i)], array->at(i));
      }
    }
    for (const float value : copy_.Get()) EXPECT_TRUE(std::isnan(value));
  }

  void ExpectUpdated(const AdamWUpdate& args) const {
    const std::vector<float> p = p_.Get();
    const std::vector<float> m = m_.Get();
    const std::vector<float> v = v_.Get();
    const std::vector<float> copy = copy_.Get();
    for (int64_t i = 0; i < Size(); ++i) {
      const auto at = static_cast<size_t>(i);
      if (i < range_.offset || i >= range_.offset + range_.count) {
        ASSERT_EQ(p[at], p_.at(i)) << "outside of the range";
        ASSERT_TRUE(std::isnan(copy[at])) << "outside of the range";
        continue;
      }
      const double g = g_.at(i) * 0.5;
      const double expected_m = m_.at(i) + (g - m_.at(i)) * (1 - args.beta1);
      const double expected_v = v_.at(i) * args.beta2 + (1 - args.beta2) * g * g;
      const double denominator =
          std::sqrt(expected_v) / std::sqrt(1 - std::pow(args.beta2, 3)) + args.eps;
      const double rate = args.lr / (1 - std::pow(args.beta1, 3));
      const double expected_p =
          p_.at(i) * (1 - args.lr * args.weight_decay) - rate * expected_m / denominator;
      ASSERT_NEAR(m[at], expected_m, 1e-6);
      ASSERT_NEAR(v[at], expected_v, 1e-6);
      ASSERT_NEAR(p[at], expected_p, 1e-6);
      ASSERT_EQ(copy[at], RoundedByTheBook(p[at], working_type_, args.rounding, i - range_.offset));
    }
  }

 private:
  int64_t Size() const { return range_.offset + range_.count + 2; }
  static std::vector<float> Positive(std::vector<float> values) {
    for (float& value : values) value = std::abs(value);
    return values;
  }

  Range range_;
  DataType working_type_;
  DeviceValues<float> factor_;
  DeviceArray p_{NormalValues(Size(), 1), DataType::kFloat32};
  DeviceArray m_{NormalValues(Size(), 2, 0.1f), DataType::kFloat32};
  DeviceArray v_{Positive(NormalValues(Size(), 3, 0.1f)), DataType::kFloat32};
  DeviceArray g_{NormalValues(Size(), 4), DataType::kFloat32};
  DeviceArray copy_ = Unwritten(Size(), working_type_);
};

TEST_F(AdamWKernel, UpdatesARange) {
  for (const Range& range : kRanges) {
    for (const DataType working_type : {DataType::kBfloat16, DataType::kFloat16}) {
      for (const bool stochastic : {false, true}) {
        SCOPED_TRACE(testing::Message() << range.count << " values behind " << range.offset
                                        << ", stochastic " << stochastic);
        const Update update(range, working_type);
        const AdamWUpdate args =
            update.Args({.on = stochastic, .key = 0x123456789abcdefu, .first = 77});
        LaunchAdamW(args, nullptr);
        update.ExpectUpdated(args);
      }
    }
  }
}

TEST_F(AdamWKernel, ChangesNothingWhereTheFactorIsNoNumber) {
  for (const Range& range : kRanges) {
    const Update update(range, DataType::kBfloat16, std::nanf(""));
    LaunchAdamW(update.Args({}), nullptr);
    update.ExpectUnchanged();
  }
}

TEST_F(AdamWKernel, WorksWithoutAWorkingCopy) {
  const DeviceArray p({1, 2, 3, 4, 5}, DataType::kFloat32);
  const DeviceArray m({0, 0, 0, 0, 0}, DataType::kFloat32);
  const DeviceArray v({0, 0, 0, 0, 0}, DataType::kFloat32);
  const DeviceArray g({1, -1, 1, -1, 0}, DataType::kFloat32);
  LaunchAdamW({.count = 5,
               .parameters = p.f32(),
               .first_moment = m.f32(),
               .second_moment = v.f32(),
               .gradients = g.f32(),
               .lr = 0.5},
              nullptr);
  const std::vector<float> updated = p.Get();
  // Adam's first step changes each value by the learning rate.
  const std::vector<float> expected = {0.5f, 2.5f, 2.5f, 4.5f, 5};
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(updated[i], expected[i], 1e-5);
}

}  // namespace
}  // namespace gp::engine
