// Goal: the gradients of LayerNorm, and of the bias before the addition, equal plain loops in
// double for odd shapes and all types, with and without accumulation, with the same bits every
// time.
#include "worker/engine/backend/cuda/kernels/layer_norm_backward.h"

#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/cuda/kernels/dropout_reference.h"

namespace gp::engine {
namespace {

struct NormBackwardShape {
  int64_t rows;
  int64_t channels;
};
// Fewer rows than warps; incomplete rounds; more rounds than blocks (4099 rows are 513 rounds of
// 8); and rows so long that only 4, 2 or 1 warps per block fit.
constexpr NormBackwardShape kNormBackwardShapes[] = {{1, 1},    {3, 7},     {9, 32},   {17, 136},
                                                     {21, 130}, {11, 1028}, {3, 4096}, {10, 768},
                                                     {6, 1600}, {5, 2048}};

struct Case {
  NormBackwardShape shape;
  TypePair types;
  bool accumulate_input;
  bool accumulate_parameters;
  bool has_beta;
  const KeyedDropout* branch;  // the dropout of dbranch; null: no branch
  bool has_bias = false;       // whether to compute dbias
};

// The arrays of a case on the device, and the results of plain loops.
class Gradients {
 public:
  explicit Gradients(const Case& c) : c_(c), rows_(c.shape.rows), channels_(c.shape.channels) {}

  // `shared_bytes`: the limit on a block's shared memory.
  void Launch(int64_t shared_bytes = SharedBytesOfDevice()) const {
    const DeviceArray scratch =
        Unwritten(LayerNormBackwardScratch(rows_, channels_), DataType::kFloat32);
    LayerNormBackwardArgs args;
    args.norm = {.rows = rows_,
                 .channels = channels_,
                 .din = din_.buffer(),
                 .dgamma = dgamma_.f32(),
                 .dbeta = c_.has_beta ? dbeta_.f32() : nullptr,
                 .dout = dout_.buffer(),
                 .in = in_.buffer(),
                 .mean = mean_.f32(),
                 .rstd = rstd_.f32(),
                 .gamma = gamma_.f32(),
                 .accumulate_input = c_.accumulate_input,
                 .accumulate_parameters = c_.accumulate_parameters};
    args.scratch = scratch.f32();
    if (c_.branch != nullptr) {
      args.dbranch = dbranch_.buffer();
      args.dropout = c_.branch->dropout();
    }
    if (c_.has_bias) args.dbias = dbias_.f32();
    LaunchLayerNormBackward(args, nullptr, shared_bytes);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }

  void ExpectInput() const {
    const std::vector<float> din = din_.Get();
    const std::vector<float> dbranch = dbranch_.Get();
    for (int64_t row = 0; row < rows_; ++row) {
      double d_mean = 0;
      double product_mean = 0;
      for (int64_t c = 0; c < channels_; ++c) {
        d_mean += D(row, c) / static_cast<double>(channels_);
        product_mean += D(row, c) * Xhat(row, c) / static_cast<double>(channels_);
      }
      for (int64_t c = 0; c < channels_; ++c) {
        const int64_t i = row * channels_ + c;
        const double through = (D(row, c) - d_mean - Xhat(row, c) * product_mean) * rstd_.at(row);
        const double expected = through + (c_.accumulate_input ? din_.at(i) : 0);
        ASSERT_NEAR(din[static_cast<size_t>(i)], expected,
                    DeviceTolerance(c_.types.residual, std::abs(expected) + std::abs(through)))
            << "row " << row << " channel " << c;
        if (c_.branch == nullptr) continue;
        const double masked = din[static_cast<size_t>(i)] * c_.branch->At(row, c);
        ASSERT_NEAR(dbranch[static_cast<size_t>(i)], masked,
                    DeviceTolerance(c_.types.compute, masked));
      }
    }
  }

  void ExpectParameters() const {
    const std::vector<float> dgamma = dgamma_.Get();
    const std::vector<float> dbeta = dbeta_.Get();
    for (int64_t c = 0; c < channels_; ++c) {
      double gamma_sum = c_.accumulate_parameters ? dgamma_.at(c) : 0;
      double beta_sum = c_.accumulate_parameters ? dbeta_.at(c) : 0;
      double magnitude = 0;
      for (int64_t row = 0; row < rows_; ++row) {
        const double dout = dout_.at(row * channels_ + c);
        gamma_sum += dout * Xhat(row, c);
        beta_sum += dout;
        magnitude += std::abs(dout) + std::abs(dout * Xhat(row, c));
      }
      ASSERT_NEAR(dgamma[static_cast<size_t>(c)], gamma_sum, 1e-6 * (magnitude + 1)) << c;
      if (c_.has_beta) {
        ASSERT_NEAR(dbeta[static_cast<size_t>(c)], beta_sum, 1e-6 * (magnitude + 1)) << c;
      } else {
        ASSERT_EQ(dbeta[static_cast<size_t>(c)], dbeta_.at(c)) << "beta is absent";
      }
    }
  }

  // Compares dbias with the column sums of dbranch as stored, that is, after rounding.
  void ExpectBias() const {
    const std::vector<float> dbranch = dbranch_.Get();
    const std::vector<float> dbias = dbias_.Get();
    for (int64_t c = 0; c < channels_; ++c) {
      double sum = c_.accumulate_parameters ? dbias_.at(c) : 0;
      double magnitude = std::abs(sum);
      for (int64_t row = 0; row < rows_; ++row) {
        const double value = dbranch[static_cast<size_t>(row * channels_ + c)];
        sum += value;
        magnitude += std::abs(value);
      }
      ASSERT_NEAR(dbias[static_cast<size_t>(c)], sum, 1e-6 * (magnitude + 1)) << c;
    }
  }

  std::vector<float> Everything() const {
    std::vector<float> all = din_.Get();
    for (const DeviceArray* array : {&dgamma_, &dbeta_, &dbias_}) {
      const std::vector<float> values = array->Get();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

 private:
  int64_t size() const { return rows_ * channels_; }
  double Xhat(int64_t row, int64_t c) const {
    return (static_cast<double>(in_.at(row * channels_ + c)) - mean_.at(row)) * rstd_.at(row);
  }
  double D(int64_t row, int64_t c) const {
    return static_cast<double>(dout_.at(row * channels_ + c)) * gamma_.at(c);
  }
  std::vector<float> Means() const {
    std::vector<float> means;
    for (int64_t row = 0; row < rows_; ++row) {
      double sum = 0;
      for (int64_t c = 0; c < channels_; ++c) sum += in_.at(row * channels_ + c);
      means.push_back(static_cast<float>(sum / static_cast<double>(channels_)));
    }
    return means;
  }

  Case c_;
  int64_t rows_;
  int64_t channels_;
  DeviceArray in_{NormalValues(size(), 1), c_.types.residual};
  DeviceArray dout_{NormalValues(size(), 2), c_.types.compute};
  DeviceArray din_{c_.accumulate_input ? NormalValues(size(), 3)
                                       : std::vector<float>(static_cast<size_t>(size())),
                   c_.types.residual};
  DeviceArray dbranch_ = Unwritten(size(), c_.types.compute);
  DeviceArray gamma_{NormalValues(channels_, 4), DataType::kFloat32};
  DeviceArray dgamma_{NormalValues(channels_, 5), DataType::kFloat32};
  DeviceArray dbeta_{NormalValues(channels_, 6), DataType::kFloat32};
  DeviceArray dbias_{NormalValues(channels_, 7), DataType::kFloat32};
  DeviceArray mean_{Means(), DataType::kFloat32};
  // Any value works, because the gradient uses it as given. 0.9 keeps the results of one-channel
  // rows small.
  DeviceArray rstd_{std::vector<float>(static_cast<size_t>(rows_), 0.9f), DataType::kFloat32};
};

class LayerNormBackwardKernel : public DeviceTest {};

TEST_F(LayerNormBackwardKernel, EqualsThePlainLoop) {
  int number = 0;
  const std::list<KeyedDropout> dropouts = DropoutCases();
  for (const NormBackwardShape& shape : kNormBackwardShapes) {
    for (const TypePair& types : kTypePairs) {
      for (const bool accumulates : {false, true}) {
        ++number;
        const KeyedDropout& dropout = *std::next(dropouts.begin(), number % 3);
        const Gradients gradients({.shape = shape,
                                   .types = types,
                                   .accumulate_input = accumulates,
                                   .accumulate_parameters = number % 4 < 2,
                                   .has_beta = number % 5 != 0,
                                   .branch = number % 7 < 4 ? &dropout : nullptr});
        SCOPED_TRACE(testing::Message() << shape.rows << " rows of " << shape.channels << ", types "
                                        << static_cast<int>(types.residual) << " "
                                        << static_cast<int>(types.compute) << ", case " << number);
        gradients.Launch();
        gradients.ExpectInput();
        gradients.ExpectParameters();
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Summed in the pass over the rows, or in a separate pass if a block may have too little shared
// memory.
TEST_F(LayerNormBackwardKernel, SumsTheColumnsOfTheBranch) {
  int number = 0;
  const std::list<KeyedDropout> dropouts = DropoutCases();
  for (const NormBackwardShape& shape : kNormBackwardShapes) {
    for (const TypePair& types : kTypePairs) {
      for (const int64_t shared_bytes : {SharedBytesOfDevice(), int64_t{0}}) {
        ++number;
        const Gradients gradients({.shape = shape,
                                   .types = types,
                                   .accumulate_input = number % 2 == 0,
                                   .accumulate_parameters = number % 4 < 2,
                                   .has_beta = number % 5 != 0,
                                   .branch = &*std::next(dropouts.begin(), number % 3),
                                   .has_bias = true});
        SCOPED_TRACE(testing::Message() << shape.rows << " rows of " << shape.channels << ", types "
                                        << static_cast<int>(types.residual) << " "
                                        << static_cast<int>(types.compute) << ", case " << number);
        gradients.Launch(shared_bytes);
        gradients.ExpectInput();
        gradients.ExpectParameters();
        gradients.ExpectBias();
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(LayerNormBackwardKernel, GivesTheSameBitsEveryTime) {
  // 513 rounds of 8 rows, so that each block has one or two.
  const std::list<KeyedDropout> dropouts = DropoutCases();
  const Case c{.shape = {4099, 12},
               .types = kTypePairs[1],
               .accumulate_input = true,
               .accumulate_parameters = true,
               .has_beta = true,
               .branch = &dropouts.back(),
               .has_bias = true};
  const Gradients first(c);
  const Gradients second(c);
  first.Launch();
  second.Launch();
  first.ExpectInput();
  first.ExpectParameters();
  EXPECT_EQ(first.Everything(), second.Everything());
}

TEST_F(LayerNormBackwardKernel, RefusesRowsThatDoNotFit) {
  LayerNormBackwardArgs args;
  args.norm.rows = 1;
  args.norm.channels = 4097;
  EXPECT_THROW(LaunchLayerNormBackward(args, nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace gp::engine
