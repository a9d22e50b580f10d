// Goal: LayerNorm, alone and after the residual addition, equals a plain loop for odd shapes and
// all types, with the dropout masks of dropout_key.h.
#include "worker/engine/backend/cuda/kernels/layer_norm.h"

#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/cuda/kernels/dropout_reference.h"

namespace gp::engine {
namespace {

struct NormShape {
  int64_t rows;
  int64_t channels;
};
// Fewer rows than a block has warps, partial vectors, rows longer than one pass of a warp, and rows
// so long that only one warp per block fits.
constexpr NormShape kNormShapes[] = {{1, 1},   {3, 7},    {9, 32},  {17, 128},
                                     {5, 130}, {10, 768}, {2, 7000}};

// The parameters of one case on the device, and its results.
class Norm {
 public:
  Norm(const NormShape& shape, DataType residual_type, DataType compute_type, bool has_beta)
      : rows_(shape.rows),
        channels_(shape.channels),
        residual_type_(residual_type),
        compute_type_(compute_type),
        has_beta_(has_beta) {}

  LayerNorm Args(Buffer in = {}) const {
    return {.rows = rows_,
            .channels = channels_,
            .out = out_.buffer(),
            .mean = mean_.f32(),
            .rstd = rstd_.f32(),
            .in = in,
            .gamma = gamma_.f32(),
            .beta = has_beta_ ? beta_.f32() : nullptr};
  }

  void ExpectNormOf(const std::vector<float>& in) const {
    const std::vector<float> results = out_.Get();
    const std::vector<float> means = mean_.Get();
    const std::vector<float> rstds = rstd_.Get();
    for (int64_t row = 0; row < rows_; ++row) {
      double sum = 0;
      double squares = 0;
      for (int64_t c = 0; c < channels_; ++c) sum += in[At(row, c)];
      const double expected_mean = sum / static_cast<double>(channels_);
      for (int64_t c = 0; c < channels_; ++c) {
        squares += std::pow(in[At(row, c)] - expected_mean, 2);
      }
      const double expected_rstd = 1 / std::sqrt(squares / static_cast<double>(channels_) + 1e-5);
      ASSERT_NEAR(means[static_cast<size_t>(row)], expected_mean, 1e-5) << row;
      // A row of one channel has no variance, only the epsilon, so rstd is about 316.
      ASSERT_NEAR(rstds[static_cast<size_t>(row)], expected_rstd, 1e-5 * expected_rstd) << row;
      for (int64_t c = 0; c < channels_; ++c) {
        const double expected = (in[At(row, c)] - expected_mean) * expected_rstd * gamma_.at(c) +
                                (has_beta_ ? beta_.at(c) : 0);
        ASSERT_NEAR(results[At(row, c)], expected, DeviceTolerance(compute_type_, expected))
            << "row " << row << " channel " << c;
      }
    }
  }

  // The index of the element (row, c).
  size_t At(int64_t row, int64_t c) const { return static_cast<size_t>(row * channels_ + c); }
  int64_t size() const { return rows_ * channels_; }

  int64_t rows_;
  int64_t channels_;
  DataType residual_type_;
  DataType compute_type_;

 private:
  bool has_beta_;
  DeviceArray gamma_{NormalValues(channels_, 2), DataType::kFloat32};
  DeviceArray beta_{NormalValues(channels_, 3), DataType::kFloat32};
  DeviceArray out_ = Unwritten(size(), compute_type_);
  DeviceArray mean_ = Unwritten(rows_, DataType::kFloat32);
  DeviceArray rstd_ = Unwritten(rows_, DataType::kFloat32);
};

template <typename Body>
void ForEachNorm(Body body) {
  for (const NormShape& shape : kNormShapes) {
    for (const auto& [residual_type, compute_type] : kTypePairs) {
      for (const bool has_beta : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << shape.rows << " rows of " << shape.channels << ", residual type "
                     << static_cast<int>(residual_type) << ", compute type "
                     << static_cast<int>(compute_type) << ", beta " << has_beta);
        body(Norm(shape, residual_type, compute_type, has_beta));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

class LayerNormKernel : public DeviceTest {};

TEST_F(LayerNormKernel, NormalisesEachRow) {
  ForEachNorm([](const Norm& norm) {
    const DeviceArray in(NormalValues(norm.size(), 1), norm.residual_type_);
    LaunchLayerNorm(norm.Args(in.buffer()), nullptr);
    norm.ExpectNormOf(in.Get());
  });
}

void ExpectSumAndNorm(const Norm& norm, const KeyedDropout& keyed, bool in_place) {
  const DeviceArray in(NormalValues(norm.size(), 4), norm.residual_type_);
  const DeviceArray branch(NormalValues(norm.size(), 5), norm.compute_type_);
  const DeviceArray other = Unwritten(norm.size(), norm.residual_type_);
  const DeviceArray& residual = in_place ? in : other;
  LaunchResidualLayerNorm({.residual = residual.buffer(),
                           .in = in.buffer(),
                           .branch = branch.buffer(),
                           .dropout = keyed.dropout(),
                           .norm = norm.Args()},
                          nullptr);
  const std::vector<float> sums = residual.Get();
  for (int64_t i = 0; i < norm.size(); ++i) {
    const double mask = keyed.At(i / norm.channels_, i % norm.channels_);
    const double expected = in.at(i) + branch.at(i) * mask;
    ASSERT_NEAR(sums[static_cast<size_t>(i)], expected,
                DeviceTolerance(norm.residual_type_, expected));
  }
  norm.ExpectNormOf(sums);
}

TEST_F(LayerNormKernel, AddsTheBranchFirst) {
  ForEachNorm([](const Norm& norm) {
    bool in_place = false;
    for (const KeyedDropout& keyed : DropoutCases()) {
      ExpectSumAndNorm(norm, keyed, in_place);
      in_place = !in_place;
    }
  });
}

}  // namespace
}  // namespace gp::engine
