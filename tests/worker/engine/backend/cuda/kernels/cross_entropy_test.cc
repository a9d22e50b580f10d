// Goal: the loss, the logarithm of the denominator, and the gradient equal plain loops in double,
// in separate kernels and in the fused one, for odd shapes and all types, with padding and ignored
// rows.
#include "worker/engine/backend/cuda/kernels/cross_entropy.h"

#include <algorithm>
#include <limits>

#include "worker/engine/backend/cuda/device_array.h"

namespace gp::engine {
namespace {

// One column; padding that begins inside a vector, and padding of more than a vector; rows longer
// than one pass of the block.
constexpr CrossEntropyShape kCrossEntropyShapes[] = {
    {1, 1, 1}, {3, 65, 65}, {2, 65, 72}, {5, 1000, 1024}, {3, 4500, 4503}};
constexpr float kMeanScale = 0.25f;
constexpr float kLossScale = 8;

// The kernels under test: two separate calls, or the fused kernel that reads a row a second time
// from shared memory or from global memory.
enum class Form { kTwoCalls, kFromShared, kFromMemory };

class Head {
 public:
  Head(const CrossEntropyShape& shape, DataType type, bool has_loss_scale)
      : Head(shape, type, has_loss_scale, SpreadTargets(shape)) {}
  Head(const CrossEntropyShape& shape, DataType type, bool has_loss_scale,
       const std::vector<int32_t>& targets)
      : shape_(shape), type_(type), has_loss_scale_(has_loss_scale), targets_(targets) {}

  void Run(Form form) const {
    const CrossEntropyLoss forward{.shape = shape_,
                                   .loss = loss_.data(),
                                   .lse = lse_.f32(),
                                   .logits = logits_.buffer(),
                                   .targets = device_targets_.data()};
    const CrossEntropyGradient backward{
        .shape = shape_,
        .logits = logits_.buffer(),
        .lse = lse_.f32(),
        .targets = device_targets_.data(),
        .scale = kMeanScale,
        .loss_scale = has_loss_scale_ ? loss_scale_.f32() : nullptr};
    const DeviceArray row_losses = Unwritten(shape_.rows, DataType::kFloat32);
    if (form == Form::kTwoCalls) {
      LaunchCrossEntropyForward(forward, row_losses.f32(), nullptr);
      LaunchCrossEntropyBackward(backward, nullptr);
    } else if (form == Form::kFromShared) {
      LaunchCrossEntropy(forward, backward, row_losses.f32(), nullptr);
    } else {
      LaunchCrossEntropy(forward, backward, row_losses.f32(), nullptr, 0);
    }
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }

  void ExpectAll() const {
    const std::vector<float> lse = lse_.Get();
    const std::vector<float> gradients = logits_.Get();
    double loss = kLossBefore;
    for (int64_t row = 0; row < shape_.rows; ++row) {
      double denominator = 0;
      for (int64_t c = 0; c < shape_.classes; ++c) denominator += std::exp(Logit(row, c));
      const double expected_lse = std::log(denominator);
      ASSERT_NEAR(lse[static_cast<size_t>(row)], expected_lse, 1e-5) << row;
      const int32_t target = targets_[static_cast<size_t>(row)];
      if (target >= 0) loss += expected_lse - Logit(row, target);
      for (int64_t c = 0; c < shape_.columns; ++c) {
        double expected = 0;
        if (target >= 0 && c < shape_.classes) {
          expected = std::exp(Logit(row, c) - expected_lse) - (c == target ? 1 : 0);
        }
        expected *= kMeanScale * (has_loss_scale_ ? kLossScale : 1);
        // The fast exponential is accurate to about 1e-6; the result is rounded once to the type.
        const double gradient = gradients[static_cast<size_t>(row * shape_.columns + c)];
        ASSERT_NEAR(gradient, expected, DeviceTolerance(type_, 0) * std::abs(expected) + 4e-6)
            << "row " << row << " column " << c;
      }
    }
    EXPECT_NEAR(loss_.Get()[0], loss, 1e-6 * static_cast<double>(shape_.rows) * 10);
  }

  std::vector<float> Gradients() const { return logits_.Get(); }
  double Loss() const { return loss_.Get()[0]; }

 private:
  static constexpr double kLossBefore = 100;

  double Logit(int64_t row, int64_t c) const { return logits_.at(row * shape_.columns + c); }
  // Every fourth row is ignored; targets are spread over the classes.
  static std::vector<int32_t> SpreadTargets(const CrossEntropyShape& shape) {
    std::vector<int32_t> targets;
    for (int64_t row = 0; row < shape.rows; ++row) {
      const auto target = static_cast<int32_t>((row * 37 + 5) % shape.classes);
      targets.push_back(row % 4 == 2 ? -1 : target);
    }
    return targets;
  }
  // Padding is NaN, because kernels must not read it.
  std::vector<float> Logits() const {
    std::vector<float> values = NormalValues(shape_.rows * shape_.columns, 7, 3);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto column = static_cast<int64_t>(i) % shape_.columns;
      if (column >= shape_.classes) values[i] = std::numeric_limits<float>::quiet_NaN();
    }
    return values;
  }

  CrossEntropyShape shape_;
  DataType type_;
  bool has_loss_scale_;
  std::vector<int32_t> targets_;
  DeviceArray logits_{Logits(), type_};
  DeviceValues<int32_t> device_targets_{targets_};
  DeviceArray lse_ = Unwritten(shape_.rows, DataType::kFloat32);
  DeviceArray loss_scale_{{kLossScale}, DataType::kFloat32};
  DeviceValues<double> loss_{1, kLossBefore};
};

class CrossEntropyKernels : public DeviceTest {};

TEST_F(CrossEntropyKernels, EqualThePlainLoop) {
  for (const CrossEntropyShape& shape : kCrossEntropyShapes) {
    for (const DataType type : kDataTypes) {
      for (const Form form : {Form::kTwoCalls, Form::kFromShared, Form::kFromMemory}) {
        SCOPED_TRACE(testing::Message()
                     << shape.rows << " rows, " << shape.classes << " of " << shape.columns
                     << " columns, type " << static_cast<int>(type) << ", form "
                     << static_cast<int>(form));
        const Head head(shape, type, form != Form::kFromMemory);
        head.Run(form);
        head.ExpectAll();
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(CrossEntropyKernels, GiveTheSameBitsInEveryForm) {
  for (const DataType type : kDataTypes) {
    const Head two_calls(kCrossEntropyShapes[3], type, true);
    two_calls.Run(Form::kTwoCalls);
    for (const Form form : {Form::kFromShared, Form::kFromMemory}) {
      const Head other(kCrossEntropyShapes[3], type, true);
      other.Run(form);
      EXPECT_EQ(other.Gradients(), two_calls.Gradients());
      EXPECT_EQ(other.Loss(), two_calls.Loss());
    }
  }
}

// More rows than the number of threads that sum up losses.
TEST_F(CrossEntropyKernels, AddUpTheLossesOfManyRows) {
  const Head head({1031, 7, 8}, DataType::kFloat32, false);
  head.Run(Form::kFromShared);
  head.ExpectAll();
}

// Targets in the first vector of a thread and in later ones, in the last full vector, and after it.
TEST_F(CrossEntropyKernels, FindTheTargetWhereverItIs) {
  const std::vector<int32_t> targets = {0, 4095, 4096, 12345, 16384, 20479, 20480, 20484};
  const CrossEntropyShape shape{static_cast<int64_t>(targets.size()), 20485, 20488};
  for (const DataType type : kDataTypes) {
    for (const Form form : {Form::kTwoCalls, Form::kFromShared, Form::kFromMemory}) {
      SCOPED_TRACE(testing::Message()
                   << "type " << static_cast<int>(type) << ", form " << static_cast<int>(form));
      const Head head(shape, type, true, targets);
      head.Run(form);
      head.ExpectAll();
      if (HasFatalFailure()) return;
    }
  }
}

// GPT-2's row of 50304 columns in shared memory.
TEST_F(CrossEntropyKernels, TakeTheVocabularyOfGpt2) {
  for (const Form form : {Form::kFromShared, Form::kFromMemory}) {
    const Head head({2, 50257, 50304}, DataType::kBfloat16, false);
    head.Run(form);
    head.ExpectAll();
  }
}

TEST_F(CrossEntropyKernels, PassOnWhatIsNotFinite) {
  const CrossEntropyShape shape{2, 3, 8};
  std::vector<float> values(16, 1);
  values[1] = std::numeric_limits<float>::quiet_NaN();
  values[9] = -std::numeric_limits<float>::infinity();
  const DeviceArray logits(values, DataType::kFloat32);
  const DeviceArray lse = Unwritten(2, DataType::kFloat32);
  const DeviceArray row_losses = Unwritten(2, DataType::kFloat32);
  const DeviceValues<int32_t> targets(2, 0);
  const DeviceValues<double> loss(1, 0.0);
  LaunchCrossEntropyForward({.shape = shape,
                             .loss = loss.data(),
                             .lse = lse.f32(),
                             .logits = logits.buffer(),
                             .targets = targets.data()},
                            row_losses.f32(), nullptr);
  EXPECT_TRUE(std::isnan(loss.Get()[0]));
  EXPECT_NEAR(row_losses.Get()[1], std::log(2.0), 1e-6) << "a logit of -inf has probability 0";
}

// More than one whole vector of a thread is -inf; the ignored row is NaN everywhere.
TEST_F(CrossEntropyKernels, GiveNoGradientToImpossibleClassesAndIgnoredRows) {
  const CrossEntropyShape shape{2, 21, 24};
  std::vector<float> values(48, 1);
  std::fill(values.begin(), values.begin() + 10, -std::numeric_limits<float>::infinity());
  std::fill(values.begin() + 24, values.end(), std::numeric_limits<float>::quiet_NaN());
  for (const DataType type : kDataTypes) {
    for (const int64_t shared_bytes : {int64_t{0}, SharedBytesOfDevice()}) {
      const DeviceArray logits(values, type);
      const DeviceArray lse = Unwritten(2, DataType::kFloat32);
      const DeviceArray row_losses = Unwritten(2, DataType::kFloat32);
      const DeviceValues<int32_t> targets(std::vector<int32_t>{12, -1});
      const DeviceValues<double> loss(1, 0.0);
      LaunchCrossEntropy({.shape = shape,
                          .loss = loss.data(),
                          .lse = lse.f32(),
                          .logits = logits.buffer(),
                          .targets = targets.data()},
                         {.shape = shape,
                          .logits = logits.buffer(),
                          .lse = lse.f32(),
                          .targets = targets.data(),
                          .scale = 1},
                         row_losses.f32(), nullptr, shared_bytes);
      EXPECT_NEAR(loss.Get()[0], std::log(11.0), 1e-6);
      const std::vector<float> gradients = logits.Get();
      for (int i = 0; i < 48; ++i) {
        const double expected = i < 10 || i >= 21 ? 0 : 1.0 / 11 - (i == 12 ? 1 : 0);
        ASSERT_NEAR(gradients[static_cast<size_t>(i)], expected, DeviceTolerance(type, 0) + 1e-6)
            << i;
      }
    }
  }
}

}  // namespace
}  // namespace gp::engine
