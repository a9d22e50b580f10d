// Goal: the softmax of stored scores, its dropout and its gradient equal plain loops, for lengths
// around the number of threads in a block, in all types.
#include "worker/engine/backend/cuda/kernels/attention/causal_softmax.h"

#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/cuda/kernels/dropout_reference.h"

namespace gp::engine {
namespace {

class CausalSoftmaxKernel : public DeviceTest {};

constexpr int64_t kLengths[] = {1, 5, 131};
constexpr float kSoftmaxScale = 0.25f;

// Calls body(length, type, dropout) for all combinations.
template <typename Body>
void ForEachSoftmax(Body body) {
  for (const int64_t length : kLengths) {
    for (const DataType type : kDataTypes) {
      for (const KeyedDropout& dropout : DropoutCases()) {
        SCOPED_TRACE(testing::Message()
                     << "length " << length << ", type " << static_cast<int>(type) << ", dropout "
                     << dropout.dropout().probability);
        body(length, type, dropout);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// The rows of a whole head and the first rows of the next.
int64_t RowsOf(int64_t length) { return length + 3; }

TEST_F(CausalSoftmaxKernel, NormalisesWhatAQuerySees) {
  ForEachSoftmax([](int64_t length, DataType type, const KeyedDropout& dropout) {
    const int64_t rows = RowsOf(length);
    const DeviceArray scores(NormalValues(rows * length, 1, 3), type);
    const DeviceArray dropped = Unwritten(rows * length, type);
    LaunchCausalSoftmax({.rows = rows,
                         .length = length,
                         .scale = kSoftmaxScale,
                         .scores = scores.buffer(),
                         .dropped = dropped.buffer(),
                         .dropout = dropout.dropout()},
                        nullptr);
    const std::vector<float> p = scores.Get();
    const std::vector<float> d = dropped.Get();
    for (int64_t row = 0; row < rows; ++row) {
      double sum = 0;
      const int64_t keys = row % length + 1;
      for (int64_t i = 0; i < keys; ++i)
        sum += std::exp(scores.at(row * length + i) * kSoftmaxScale);
      for (int64_t i = 0; i < length; ++i) {
        const double expected =
            i < keys ? std::exp(scores.at(row * length + i) * kSoftmaxScale) / sum : 0;
        const auto at = static_cast<size_t>(row * length + i);
        ASSERT_NEAR(p[at], expected, DeviceTolerance(type, 0) / 2);
        ASSERT_NEAR(d[at], p[at] * dropout.At(row, i), DeviceTolerance(type, 0));
      }
    }
  });
}

TEST_F(CausalSoftmaxKernel, WritesNoDroppedProbabilitiesUnlessAsked) {
  const DeviceArray scores({0, 9, 1, 1}, DataType::kFloat32);
  LaunchCausalSoftmax({.rows = 2, .length = 2, .scores = scores.buffer()}, nullptr);
  EXPECT_EQ(scores.Get(), (std::vector<float>{1, 0, 0.5, 0.5}));
}

TEST_F(CausalSoftmaxKernel, DropsProbabilities) {
  ForEachSoftmax([](int64_t length, DataType type, const KeyedDropout& dropout) {
    const int64_t rows = RowsOf(length);
    const DeviceArray in(NormalValues(rows * length, 2), type);
    const DeviceArray out = Unwritten(rows * length, type);
    LaunchDropProbabilities(rows, length, out.buffer(), in.buffer(), dropout.dropout(), nullptr);
    const std::vector<float> dropped = out.Get();
    for (int64_t i = 0; i < rows * length; ++i) {
      const double expected = in.at(i) * dropout.At(i / length, i % length);
      ASSERT_NEAR(dropped[static_cast<size_t>(i)], expected, DeviceTolerance(type, expected));
    }
  });
}

TEST_F(CausalSoftmaxKernel, GivesTheGradientOfTheScores) {
  ForEachSoftmax([](int64_t length, DataType type, const KeyedDropout& dropout) {
    const int64_t rows = RowsOf(length);
    std::vector<float> p = NormalValues(rows * length, 3);
    for (float& value : p) value = std::abs(value) / static_cast<float>(length);
    const DeviceArray probabilities(p, type);
    const DeviceArray d(NormalValues(rows * length, 4), type);
    LaunchCausalSoftmaxBackward({.rows = rows,
                                 .length = length,
                                 .scale = kSoftmaxScale,
                                 .d = d.buffer(),
                                 .probabilities = probabilities.buffer(),
                                 .dropout = dropout.dropout()},
                                nullptr);
    const std::vector<float> results = d.Get();
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t keys = row % length + 1;
      double sum = 0;
      const auto gradient = [&](int64_t i) { return d.at(row * length + i) * dropout.At(row, i); };
      for (int64_t i = 0; i < keys; ++i) sum += probabilities.at(row * length + i) * gradient(i);
      for (int64_t i = 0; i < length; ++i) {
        const double expected =
            i < keys ? probabilities.at(row * length + i) * (gradient(i) - sum) * kSoftmaxScale : 0;
        ASSERT_NEAR(results[static_cast<size_t>(row * length + i)], expected,
                    DeviceTolerance(type, expected));
      }
    }
  });
}

}  // namespace
}  // namespace gp::engine
