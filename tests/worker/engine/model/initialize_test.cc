// Goal: both initialisations have GPT-2's distribution and depend only on the seed, and `torch`
// equals nanoGPT's bit for bit.
#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include "worker/engine/model/model_fixture.h"

namespace gp::engine {
namespace {

std::unique_ptr<LanguageModel> SmallModel(bool bias) {
  runspec::ModelShape shape{.layers = 2, .heads = 2, .channels = 6, .context = 5};
  shape.vocabulary = shape.vocabulary_padded = 7;
  shape.bias = bias;
  return MakeLanguageModel({.shape = shape, .micro_batch = 1, .sequence = 5});
}

std::span<const float> TensorOf(LanguageModel& model, const std::string& name) {
  const runspec::ParameterInfo& tensor = model.layout().at(name);
  return model.parameters().subspan(static_cast<size_t>(tensor.offset),
                                    static_cast<size_t>(tensor.count));
}

struct Expected {
  bool bias;
  const char* tensor;
  uint32_t first_bits;
  uint32_t last_bits;
  double sum;
};

// Values of nanoGPT's modules (2 layers, 6 channels, context 5, vocabulary 7) in PyTorch 2.11.0
// after torch.manual_seed(1337).
constexpr Expected kExpected[] = {
    {true, "wte.weight", 0x3cdf1b84, 0x3c6b4619, 0.05787212710129097},
    {true, "wpe.weight", 0xbd0b1f32, 0xbc4c5a4d, -0.036512288119411096},
    {true, "h.0.attn.c_attn.weight", 0xba46d541, 0x3c5cccf4, -0.050159715290647},
    {true, "h.1.mlp.c_proj.weight", 0xbbd47295, 0x3c747986, -0.128669788595289},
    {false, "wte.weight", 0xbcceed5c, 0x3c898b20, -0.06789408175973222},
    {false, "wpe.weight", 0xbc91c49a, 0xbc07751b, 0.10123743186704814},
    {false, "h.0.attn.c_attn.weight", 0xbc031c13, 0xbca0a61b, 0.024644250777782872},
    {false, "h.1.mlp.c_proj.weight", 0xbc3d955c, 0xb8dc4cb9, -0.1372431589986718},
};

TEST(InitializeTorch, HasTheBitsOfNanoGpt) {
  for (const Expected& expected : kExpected) {
    const auto model = SmallModel(expected.bias);
    InitializeTorch(1337, *model);
    const std::span<const float> values = TensorOf(*model, expected.tensor);
    EXPECT_EQ(std::bit_cast<uint32_t>(values.front()), expected.first_bits) << expected.tensor;
    EXPECT_EQ(std::bit_cast<uint32_t>(values.back()), expected.last_bits) << expected.tensor;
    EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0), expected.sum, 1e-12);
  }
}

TEST(InitializeNormal, HasGpt2sDeviationsAndZeroPadding) {
  const runspec::ModelShape shape{.layers = 2,
                                  .heads = 2,
                                  .channels = 64,
                                  .context = 32,
                                  .vocabulary = 200,
                                  .vocabulary_padded = 256};
  const auto model = MakeLanguageModel({.shape = shape, .micro_batch = 1, .sequence = 4});
  InitializeNormal(9, *model);
  const auto deviation = [&](const std::string& name, size_t count) {
    double squares = 0;
    for (const float value : TensorOf(*model, name).first(count)) squares += double{value} * value;
    return std::sqrt(squares / static_cast<double>(count));
  };
  EXPECT_NEAR(deviation("wte.weight", 200 * 64), 0.02, 0.0005);
  EXPECT_NEAR(deviation("h.0.attn.c_attn.weight", 3 * 64 * 64), 0.02, 0.0005);
  EXPECT_NEAR(deviation("h.1.mlp.c_proj.weight", 4 * 64 * 64), 0.01, 0.0003);
  for (const float value : TensorOf(*model, "wte.weight").subspan(200 * 64)) ASSERT_EQ(value, 0);
  for (const float value : TensorOf(*model, "h.0.ln_1.weight")) ASSERT_EQ(value, 1);
  for (const float value : TensorOf(*model, "h.0.mlp.c_fc.bias")) ASSERT_EQ(value, 0);
}

// The hash of the weights for one seed; it must never change, whatever the processor, the compiler
// or the library.
TEST(InitializeNormal, HasTheSameBitsOnEveryMachine) {
  const auto model = SmallModel(true);
  InitializeNormal(1337, *model);
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a over 32-bit words
  for (const float value : model->parameters()) {
    hash = (hash ^ std::bit_cast<uint32_t>(value)) * 0x100000001b3u;
  }
  EXPECT_EQ(hash, 3286132372285222067u);
}

TEST(InitializeNormal, DependsOnTheSeedAlone) {
  const auto first = SmallModel(true);
  const auto second = SmallModel(true);
  InitializeNormal(1, *first);
  InitializeNormal(2, *second);
  EXPECT_NE(TensorOf(*first, "wpe.weight").front(), TensorOf(*second, "wpe.weight").front());
}

// The embedding has more values than are drawn at once, and several threads share them.
TEST(InitializeNormal, GivesTheSameBitsWithAnyNumberOfThreads) {
  runspec::ModelShape shape{.layers = 1, .heads = 2, .channels = 128, .context = 4};
  shape.vocabulary = shape.vocabulary_padded = 9000;
  const auto make = [&](int threads) {
    auto model = MakeLanguageModel({.shape = shape, .micro_batch = 1, .sequence = 4});
    InitializeNormal(1, *model, threads);
    return model;
  };
  const auto one = make(1), five = make(5);
  EXPECT_TRUE(
      std::equal(one->parameters().begin(), one->parameters().end(), five->parameters().begin()));
  EXPECT_NE(TensorOf(*one, "wte.weight").back(), 0);
}

}  // namespace
}  // namespace gp::engine
