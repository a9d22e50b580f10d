// Goal: at level amx every bf16 product of a layer has the bits of the arithmetic in tiles.h: the
// three passes, sizes that are no multiples of tiles, any blocking and number of threads, values of
// all kinds, packed weights and few rows.
#include <gtest/gtest.h>

#include "plan/packed_weight.h"
#include "worker/engine/backend/backend_fixture.h"
#include "worker/engine/backend/cpu/kernels/amx_support.h"
#include "worker/engine/backend/cpu/tile_model.h"

namespace gp::engine {
namespace {

class TileGemm : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!IsaSupported(Isa::kAmx)) GTEST_SKIP() << "this processor has no AVX-512";
  }
};

using Bf16s = std::vector<uint16_t>;

// Every `step`-th value from `first`.
Bf16s Strided(const Bf16s& values, int64_t first, int64_t step, int64_t count) {
  Bf16s picked;
  for (int64_t i = 0; i < count; ++i)
    picked.push_back(values[static_cast<size_t>(first + i * step)]);
  return picked;
}

std::vector<uint32_t> BitsOf(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

Buffer Bf16(Bf16s& values) { return {values.data(), DataType::kBfloat16}; }
Buffer F32(std::vector<float>& values) { return {values.data(), DataType::kFloat32}; }

struct Layer {
  Layer(const LinearShape& s, DrawnValues kind, unsigned seed) : shape(s), random(seed) {
    x = DrawBf16s(kind, s.rows * s.in, random);
    w = DrawBf16s(kind, s.out * s.in, random);
    dy = DrawBf16s(kind, s.rows * s.out, random);
    for (const uint16_t value : DrawBf16s(kind, s.out * s.in, random)) {
      dw_before.push_back(WidenedBf16(value));
    }
  }

  std::vector<uint32_t> Forward(Backend& backend, int64_t rows) {
    std::vector<float> y(static_cast<size_t>(rows * shape.out));
    backend.Forward(LinearForward{
        .shape = {rows, shape.in, shape.out}, .y = F32(y), .x = Bf16(x), .w = Bf16(w)});
    return BitsOf(y);
  }
  std::vector<uint32_t> ForwardPacked(Backend& backend, int64_t rows) {
    Bf16s packed(static_cast<size_t>(runspec::PackedWeightElements(shape.out, shape.in)));
    backend.Pack({shape.in, 0, shape.out, Bf16(packed), Bf16(w)});
    std::vector<float> y(static_cast<size_t>(rows * shape.out));
    backend.Forward(LinearForward{.shape = {rows, shape.in, shape.out},
                                  .y = F32(y),
                                  .x = Bf16(x),
                                  .w = Bf16(packed),
                                  .w_packed = true});
    return BitsOf(y);
  }
  std::vector<uint32_t> BackwardInput(Backend& backend) {
    std::vector<float> dx(static_cast<size_t>(shape.rows * shape.in));
    backend.BackwardInput({.shape = shape, .dx = F32(dx), .dy = Bf16(dy), .w = Bf16(w)});
    return BitsOf(dx);
  }
  std::vector<uint32_t> BackwardWeight(Backend& backend, bool accumulate) {
    std::vector<float> dw = dw_before;
    backend.BackwardWeight(
        {.shape = shape, .dw = dw.data(), .dy = Bf16(dy), .x = Bf16(x), .accumulate = accumulate});
    return BitsOf(dw);
  }

  std::vector<uint32_t> ExpectedForward() const {
    const auto [rows, in, out] = shape;
    std::vector<float> y;
    for (int64_t i = 0; i < rows * out; ++i) {
      y.push_back(TileSum(Strided(x, i / out * in, 1, in), Strided(w, i % out * in, 1, in), 0));
    }
    return BitsOf(y);
  }
  std::vector<uint32_t> ExpectedBackwardInput() const {
    const auto [rows, in, out] = shape;
    std::vector<float> dx;
    for (int64_t i = 0; i < rows * in; ++i) {
      dx.push_back(TileSum(Strided(dy, i / in * out, 1, out), Strided(w, i % in, in, out), 0));
    }
    return BitsOf(dx);
  }
  std::vector<uint32_t> ExpectedBackwardWeight(bool accumulate) const {
    const auto [rows, in, out] = shape;
    std::vector<float> dw;
    for (int64_t i = 0; i < out * in; ++i) {
      dw.push_back(TileSum(Strided(dy, i / in, out, rows), Strided(x, i % in, in, rows),
                           accumulate ? dw_before[static_cast<size_t>(i)] : 0));
    }
    return BitsOf(dw);
  }

  LinearShape shape;
  std::mt19937 random;
  Bf16s x;
  Bf16s w;
  Bf16s dy;
  std::vector<float> dw_before;
};

// One element, whole tiles, one more and one less than tiles and blocks of k.
const std::vector<LinearShape> kTileShapes = {{1, 1, 1},    {1, 33, 17},  {17, 31, 33},
                                              {32, 64, 32}, {33, 65, 15}, {47, 96, 49},
                                              {64, 32, 80}, {31, 130, 1}};

void ExpectModelsBits(Backend& backend, Layer& layer) {
  EXPECT_EQ(layer.Forward(backend, layer.shape.rows), layer.ExpectedForward());
  EXPECT_EQ(layer.ForwardPacked(backend, layer.shape.rows), layer.ExpectedForward()) << "packed";
  EXPECT_EQ(layer.BackwardInput(backend), layer.ExpectedBackwardInput());
  for (const bool accumulate : {false, true}) {
    EXPECT_EQ(layer.BackwardWeight(backend, accumulate), layer.ExpectedBackwardWeight(accumulate))
        << (accumulate ? "accumulated" : "new");
  }
}

TEST_F(TileGemm, HasTheBitsOfTheModelForOddSizesAndAllKindsOfValues) {
  const auto backend = MakeTestBackend(Isa::kAmx);
  unsigned seed = 0;
  for (const LinearShape& shape : kTileShapes) {
    for (const DrawnValues kind : kAllDrawnValues) {
      SCOPED_TRACE(::testing::Message() << shape.rows << " x " << shape.in << " x " << shape.out
                                        << ", kind " << static_cast<int>(kind));
      Layer layer(shape, kind, ++seed);
      ExpectModelsBits(*backend, layer);
    }
  }
}

// k in several blocks, so that unfinished sums are stored in between.
TEST_F(TileGemm, HasTheBitsOfTheModelForEveryBlocking) {
  Layer layer({70, 200, 67}, DrawnValues::kSpecial, 5);
  for (const PackedOperand packed : {PackedOperand::kFirst, PackedOperand::kSecond}) {
    for (const int depth : {16, 48}) {
      for (const int threads : {1, 3}) {
        SCOPED_TRACE(::testing::Message() << static_cast<int>(packed) << ", depth " << depth << ", "
                                          << threads << " threads");
        KernelChoices choices;
        for (const GemmProblem& problem : ProblemsOf(layer.shape, DataType::kBfloat16)) {
          choices.Set(problem,
                      {.packed = packed, .depth = depth, .columns = 32, .pieces = threads});
        }
        const auto backend =
            MakeCpuBackend({.threads = threads, .isa = Isa::kAmx, .choices = choices});
        ExpectModelsBits(*backend, layer);
      }
    }
  }
}

// A decoder's rows are computed alone, a prompt's together.
TEST_F(TileGemm, ARowHasTheSameBitsWithAndWithoutNeighbours) {
  const auto backend = MakeTestBackend(Isa::kAmx, 3);
  Layer layer({70, 601, 103}, DrawnValues::kNormal, 11);
  const std::vector<uint32_t> all = layer.Forward(*backend, 70);
  for (const int64_t rows : {1, 2, 7, 8, 16, 17, 33, 64}) {
    const auto size = static_cast<std::ptrdiff_t>(rows * layer.shape.out);
    EXPECT_EQ(layer.Forward(*backend, rows), std::vector(all.begin(), all.begin() + size)) << rows;
    EXPECT_EQ(layer.ForwardPacked(*backend, rows), std::vector(all.begin(), all.begin() + size))
        << rows << ", packed";
  }
}

TEST_F(TileGemm, EndsWithBiasAndGeluAsOtherLevelsDo) {
  // Products of small whole numbers are exact in any order, so the levels agree to the bit.
  const LinearShape shape{40, 24, 50};
  std::vector<std::vector<float>> results;
  for (const Isa isa : {Isa::kAvx512, Isa::kAmx}) {
    const auto backend = MakeTestBackend(isa);
    std::vector<float> numbers = RandomValues(40 * 50, 4, 3);
    for (float& number : numbers) number = std::round(number);
    Array x(numbers, DataType::kBfloat16);
    Array bias(RandomValues(shape.out, 5), DataType::kBfloat16);
    std::vector<float> y(static_cast<size_t>(shape.rows * shape.out));
    std::vector<float> gelu(y.size());
    Bf16s y16(y.size());
    Bf16s gelu16(y.size());
    backend->Forward(LinearForward{shape, Bf16(y16), x.buffer(), x.buffer(), bias.buffer(),
                                   Bf16(gelu16), runspec::Gelu::kErf});
    for (const Bf16s& values : {y16, gelu16}) {
      for (const uint16_t value : values) y.push_back(WidenedBf16(value));
    }
    results.push_back(y);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(TileGemm, ABackendWithoutTileRegistersSaysSo) {
  const auto never = MakeCpuBackend({.isa = Isa::kAmx, .tiles = TileUse::kNever});
  EXPECT_STREQ(never->name(), "amx_twin");
  const bool usable = Amx().usable;
  EXPECT_STREQ(MakeTestBackend(Isa::kAmx)->name(), usable ? "amx" : "amx_twin");
}

TEST_F(TileGemm, LeavesFp32ToTheKernelsOfAvx512) {
  const LinearShape shape{37, 70, 53};
  std::vector<std::vector<float>> results;
  for (const Isa isa : {Isa::kAvx512, Isa::kAmx}) {
    const auto backend = MakeTestBackend(isa);
    std::vector<float> x = RandomValues(shape.rows * shape.in, 1);
    std::vector<float> w = RandomValues(shape.out * shape.in, 2);
    std::vector<float> y(static_cast<size_t>(shape.rows * shape.out));
    backend->Forward(LinearForward{.shape = shape, .y = F32(y), .x = F32(x), .w = F32(w)});
    results.push_back(y);
  }
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace gp::engine
