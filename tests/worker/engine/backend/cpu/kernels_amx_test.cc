// Goal: the kernels for tile registers give the bits of the twin: on a processor with AMX by
// itself, elsewhere by executing their instructions one by one.
#include <gtest/gtest.h>

#include "worker/engine/backend/backend_fixture.h"
#include "worker/engine/backend/cpu/gemm.h"
#include "worker/engine/backend/cpu/kernels/amx_support.h"
#include "worker/engine/backend/cpu/tile_emulator.h"

namespace gp::engine {
namespace {

TEST(AmxTiles, OfThisProcessorHaveTheBitsOfTheTwin) {
  if (!Amx().usable) GTEST_SKIP() << Amx().why_not;
  EXPECT_EQ(FirstDifference(AmxTiles(), TwinTiles()), "");
}

class EmulatedAmx : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!IsaSupported(Isa::kAmx)) GTEST_SKIP() << "this processor has no AVX-512";
    if (Amx().usable) GTEST_SKIP() << "this processor has AMX";
  }
  TileEmulator emulator_;
};

TEST_F(EmulatedAmx, HasTheBitsOfTheTwinInEveryClassOfBlock) {
  EXPECT_EQ(FirstDifference(AmxTiles(), TwinTiles()), "");
  EXPECT_TRUE(TileEmulator::Released());
}

// Products of odd sizes on several threads, each of which must configure its tiles.
std::vector<float> ProductWith(const Tiles& tiles, const GemmArgs& product, bool accumulate) {
  KernelSet kernels = KernelsOf(Isa::kAmx, TileUse::kNever);
  kernels.tiles = &tiles;
  ThreadPool pool(3);
  constexpr int64_t kThreadBytes = int64_t{8} << 20;
  std::vector<std::byte> workspace(static_cast<size_t>(pool.threads() * kThreadBytes));
  std::vector<float> y(static_cast<size_t>(product.m * product.n), 1.5f);
  GemmArgs args = product;
  args.output = {.y = {y.data(), DataType::kFloat32}, .ldy = product.n};
  args.accumulate = accumulate;
  KernelChoices choices;
  choices.Set(args.problem(), {.depth = 32, .pieces = 3});
  Gemm(kernels, pool, workspace.data(), kThreadBytes, choices).Run(args);
  return y;
}

TEST_F(EmulatedAmx, HasTheBitsOfTheTwinInWholeProducts) {
  std::mt19937 random(20260101);
  const int64_t m = 67;
  const int64_t n = 49;
  const int64_t k = 130;
  auto a = DrawBf16s(DrawnValues::kSpecial, m * k, random);
  auto b = DrawBf16s(DrawnValues::kNormal, n * k, random);
  const Buffer a_data{a.data(), DataType::kBfloat16};
  const Buffer b_data{b.data(), DataType::kBfloat16};
  const std::vector<GemmArgs> passes = {
      {.m = m, .n = n, .k = k, .a = {a_data, k, true}, .b = {b_data, k, true}},
      {.m = m, .n = n, .k = k, .a = {a_data, k, true}, .b = {b_data, n, false}},
      {.m = m, .n = n, .k = k, .a = {a_data, m, false}, .b = {b_data, n, false}}};
  for (const GemmArgs& pass : passes) {
    for (const bool accumulate : {false, true}) {
      const auto expected = ProductWith(TwinTiles(), pass, accumulate);
      const auto product = ProductWith(AmxTiles(), pass, accumulate);
      EXPECT_EQ(std::memcmp(product.data(), expected.data(), product.size() * sizeof(float)), 0);
    }
  }
}

// Output, log of the denominators and gradients of one head's attention.
std::vector<float> AttentionWith(const Tiles& tiles, const AttentionShape& shape) {
  const int64_t values = shape.length * shape.channels();
  Array qkv(RandomValues(3 * values, 1), DataType::kBfloat16);
  Array dout(RandomValues(values, 2), DataType::kBfloat16);
  Array out = Zeros(values, DataType::kBfloat16);
  Array dqkv = Zeros(3 * values, DataType::kBfloat16);
  std::vector<float> results(static_cast<size_t>(shape.length));
  std::vector<float> scratch(size_t{1} << 18);
  const Dropout dropout{.probability = 0.25, .seed = 3, .step = 9, .site = 4};
  AttentionForwardByTiles(tiles, shape, out.buffer(), results.data(), qkv.buffer(), dropout, 0,
                          scratch.data());
  AttentionBackwardByTiles(tiles, shape, dqkv.buffer(), dout.buffer(), out.buffer(), results.data(),
                           qkv.buffer(), dropout, 0, scratch.data());
  for (const Buffer& buffer : {out.buffer(), dqkv.buffer()}) {
    const int64_t count = buffer.data == out.buffer().data ? values : 3 * values;
    for (int64_t i = 0; i < count; ++i) results.push_back(WidenedBf16(buffer.bf16()[i]));
  }
  return results;
}

TEST_F(EmulatedAmx, HasTheBitsOfTheTwinInAttention) {
  for (const AttentionShape& shape :
       {AttentionShape{1, 130, 1, 40}, AttentionShape{1, 64, 1, 64}, AttentionShape{1, 17, 1, 1}}) {
    EXPECT_EQ(AttentionWith(AmxTiles(), shape), AttentionWith(TwinTiles(), shape));
    EXPECT_TRUE(TileEmulator::Released());
  }
}

}  // namespace
}  // namespace gp::engine
