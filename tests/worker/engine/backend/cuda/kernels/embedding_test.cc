// Goal: the embedding and its gradients equal plain loops for odd shapes and all types, with rare,
// frequent and absent tokens; gradients are accumulated, with the same bits every time.
#include "worker/engine/backend/cuda/kernels/embedding.h"

#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/cuda/kernels/dropout_reference.h"

namespace gp::engine {
namespace {

struct EmbeddingShape {
  int64_t sequences;
  int64_t length;
  int64_t channels;
  int64_t vocabulary;
};
// One row; a single token whose rows span several parts of 64 rows; a few tokens whose rows end
// inside parts; rows with more vectors than threads; many tokens that occur once or never.
constexpr EmbeddingShape kEmbeddingShapes[] = {
    {1, 1, 1, 1}, {5, 60, 3, 1}, {3, 130, 12, 3}, {2, 9, 1028, 65}, {3, 50, 20, 50257}};

// Random tokens, among which 0 and 1 are frequent.
std::vector<int32_t> SomeTokens(const EmbeddingShape& shape) {
  std::mt19937 random(11);
  std::uniform_int_distribution<int32_t> uniform(0, static_cast<int32_t>(shape.vocabulary - 1));
  std::vector<int32_t> tokens;
  for (int64_t row = 0; row < shape.sequences * shape.length; ++row) {
    const int32_t token = uniform(random);
    tokens.push_back(row % 3 == 0 ? std::min(token, 1) : token);
  }
  return tokens;
}

template <typename Body>
void ForEachEmbedding(Body body) {
  for (const EmbeddingShape& shape : kEmbeddingShapes) {
    for (const DataType type : kDataTypes) {
      for (const KeyedDropout& keyed : DropoutCases()) {
        SCOPED_TRACE(testing::Message()
                     << shape.sequences << " sequences of " << shape.length << ", "
                     << shape.channels << " channels, " << shape.vocabulary << " tokens, type "
                     << static_cast<int>(type));
        body(shape, type, keyed);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

class EmbeddingKernels : public DeviceTest {};

TEST_F(EmbeddingKernels, LookUpTokensAndPositions) {
  ForEachEmbedding([](const EmbeddingShape& shape, DataType type, const KeyedDropout& keyed) {
    const int64_t rows = shape.sequences * shape.length;
    const std::vector<int32_t> tokens = SomeTokens(shape);
    const DeviceValues<int32_t> device_tokens(tokens);
    const DeviceArray wte(NormalValues(shape.vocabulary * shape.channels, 1), DataType::kFloat32);
    const DeviceArray wpe(NormalValues(shape.length * shape.channels, 2), DataType::kFloat32);
    const DeviceArray out = Unwritten(rows * shape.channels, type);
    LaunchEmbeddingForward({.sequences = shape.sequences,
                            .length = shape.length,
                            .channels = shape.channels,
                            .out = out.buffer(),
                            .tokens = device_tokens.data(),
                            .wte = wte.f32(),
                            .wpe = wpe.f32(),
                            .dropout = keyed.dropout()},
                           nullptr);
    const std::vector<float> values = out.Get();
    for (int64_t i = 0; i < rows * shape.channels; ++i) {
      const int64_t row = i / shape.channels;
      const int64_t c = i % shape.channels;
      const double sum = wte.at(tokens[static_cast<size_t>(row)] * shape.channels + c) +
                         wpe.at(row % shape.length * shape.channels + c);
      const double expected = sum * keyed.At(row, c);
      ASSERT_NEAR(values[static_cast<size_t>(i)], expected, DeviceTolerance(type, expected));
    }
  });
}

// Gradients on the device with initial values, and the expected results.
struct EmbeddingGradients {
  EmbeddingGradients(const EmbeddingShape& shape, DataType type)
      : dwte(NormalValues(shape.vocabulary * shape.channels, 4), DataType::kFloat32),
        dwpe(NormalValues(shape.length * shape.channels, 5), DataType::kFloat32),
        dout(NormalValues(shape.sequences * shape.length * shape.channels, 6), type) {}

  void Launch(const EmbeddingShape& shape, const std::vector<int32_t>& tokens,
              const Dropout& dropout) {
    const int64_t rows = shape.sequences * shape.length;
    const DeviceValues<int32_t> device_tokens(tokens);
    const DeviceValues<std::byte> scratch(
        static_cast<size_t>(EmbeddingBackwardScratch(rows, shape.channels)), std::byte{0xff});
    LaunchEmbeddingBackward({.sequences = shape.sequences,
                             .length = shape.length,
                             .channels = shape.channels,
                             .dwte = dwte.f32(),
                             .dwpe = dwpe.f32(),
                             .dout = dout.buffer(),
                             .tokens = device_tokens.data(),
                             .dropout = dropout,
                             .tokens_below = shape.vocabulary},
                            scratch.data(), nullptr);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }

  DeviceArray dwte;
  DeviceArray dwpe;
  DeviceArray dout;
};

// Up to 300 values of size 1 are added, so an fp32 sum is off by a few 1e-6.
constexpr double kSumTolerance = 3e-5;

void ExpectSums(const DeviceArray& array, const std::vector<double>& expected) {
  const std::vector<float> values = array.Get();
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], expected[i], kSumTolerance) << "element " << i;
  }
}

TEST_F(EmbeddingKernels, AddTheGradients) {
  ForEachEmbedding([](const EmbeddingShape& shape, DataType type, const KeyedDropout& keyed) {
    const std::vector<int32_t> tokens = SomeTokens(shape);
    EmbeddingGradients gradients(shape, type);
    gradients.Launch(shape, tokens, keyed.dropout());
    std::vector<double> dwte;
    std::vector<double> dwpe;
    for (int64_t i = 0; i < gradients.dwte.size(); ++i) dwte.push_back(gradients.dwte.at(i));
    for (int64_t i = 0; i < gradients.dwpe.size(); ++i) dwpe.push_back(gradients.dwpe.at(i));
    for (int64_t i = 0; i < gradients.dout.size(); ++i) {
      const int64_t row = i / shape.channels;
      const int64_t c = i % shape.channels;
      const double gradient = gradients.dout.at(i) * keyed.At(row, c);
      const int64_t token = tokens[static_cast<size_t>(row)];
      dwte[static_cast<size_t>(token * shape.channels + c)] += gradient;
      dwpe[static_cast<size_t>(row % shape.length * shape.channels + c)] += gradient;
    }
    ExpectSums(gradients.dwte, dwte);
    ExpectSums(gradients.dwpe, dwpe);
  });
}

TEST_F(EmbeddingKernels, GiveTheSameBitsEveryTime) {
  const EmbeddingShape& shape = kEmbeddingShapes[2];
  EmbeddingGradients first(shape, DataType::kBfloat16);
  EmbeddingGradients second(shape, DataType::kBfloat16);
  first.Launch(shape, SomeTokens(shape), {});
  second.Launch(shape, SomeTokens(shape), {});
  EXPECT_EQ(first.dwte.Get(), second.dwte.Get());
  EXPECT_EQ(first.dwpe.Get(), second.dwpe.Get());
}

}  // namespace
}  // namespace gp::engine
