// Goal: TwinTiles computes the arithmetic of tiles.h to the last bit: over exponents, denormals,
// infinities and NaN. It leaves the caller's rounding mode as it was.
#include <gtest/gtest.h>
#include <immintrin.h>

#include <cstring>

#include "worker/engine/backend/cpu/kernels/tiles.h"
#include "worker/engine/backend/cpu/tile_model.h"

namespace gp::engine {
namespace {

class Twin : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!IsaSupported(Isa::kAmx)) GTEST_SKIP() << "this processor has no AVX-512";
  }
};

// A block's operands and its product.
struct DrawnBlock {
  DrawnBlock(DrawnValues kind, int64_t depth, std::mt19937& random) : k(depth * kTileDepth) {
    for (int64_t i = 0; i < kBlockSide; ++i) {
      rows.push_back(DrawBf16s(kind, k, random));
      columns.push_back(DrawBf16s(kind, k, random));
      for (const uint16_t value : DrawBf16s(kind, kBlockSide, random)) {
        before.push_back(std::bit_cast<float>(uint32_t{value} << 16 | value));
      }
    }
    for (const auto& row : rows) a.insert(a.end(), row.begin(), row.end());
    for (size_t u = 0; u < static_cast<size_t>(k) / 2; ++u) {
      for (const auto& column : columns) {
        b.push_back(column[2 * u] | (uint32_t{column[2 * u + 1]} << 16));
      }
    }
  }

  std::vector<float> Product(const Tiles& tiles, int64_t row_tiles, int64_t column_tiles,
                             bool accumulate) const {
    std::vector<float> c = before;
    tiles.begin();
    tiles.multiply({.row_tiles = row_tiles,
                    .column_tiles = column_tiles,
                    .blocks = k / kTileDepth,
                    .a = a.data(),
                    .a_stride = k,
                    .b = b.data(),
                    .b_stride = kBlockSide,
                    .c = c.data(),
                    .ldc = kBlockSide,
                    .accumulate = accumulate,
                    .last = true});
    tiles.end();
    return c;
  }

  float Expected(int64_t row, int64_t column, bool accumulate) const {
    const auto at = static_cast<size_t>(row * kBlockSide + column);
    return TileSum(rows[static_cast<size_t>(row)], columns[static_cast<size_t>(column)],
                   accumulate ? before[at] : 0);
  }

  int64_t k;
  std::vector<std::vector<uint16_t>> rows;
  std::vector<std::vector<uint16_t>> columns;
  std::vector<float> before;  // C
  std::vector<uint16_t> a;
  std::vector<uint32_t> b;
};

uint32_t Bits(float value) { return std::bit_cast<uint32_t>(value); }

// Elements outside of the block's tiles must not change.
void ExpectModelsBits(const DrawnBlock& block, int64_t row_tiles, int64_t column_tiles,
                      bool accumulate) {
  const auto product = block.Product(TwinTiles(), row_tiles, column_tiles, accumulate);
  for (int64_t row = 0; row < kBlockSide; ++row) {
    for (int64_t column = 0; column < kBlockSide; ++column) {
      const auto at = static_cast<size_t>(row * kBlockSide + column);
      const bool inside = row < row_tiles * kTileSide && column < column_tiles * kTileSide;
      const float expected = inside ? block.Expected(row, column, accumulate) : block.before[at];
      ASSERT_EQ(Bits(product[at]), Bits(expected))
          << row << ", " << column << ": " << product[at] << " instead of " << expected;
    }
  }
}

TEST_F(Twin, HasTheBitsOfTheModelForAllKindsOfValues) {
  std::mt19937 random(20260101);
  for (const DrawnValues kind : kAllDrawnValues) {
    for (const int64_t depth : {1, 2, 5}) {
      SCOPED_TRACE(::testing::Message()
                   << "kind " << static_cast<int>(kind) << ", depth " << depth);
      const DrawnBlock block(kind, depth, random);
      for (const bool accumulate : {false, true}) ExpectModelsBits(block, 2, 2, accumulate);
    }
  }
}

TEST_F(Twin, ComputesTheTilesThatABlockHasAndNoOthers) {
  std::mt19937 random(7);
  const DrawnBlock block(DrawnValues::kNormal, 2, random);
  for (const int64_t row_tiles : {1, 2}) {
    for (const int64_t column_tiles : {1, 2}) {
      ExpectModelsBits(block, row_tiles, column_tiles, true);
    }
  }
}

// The twin's c + sum of a[k] b[k] for at most 32 k.
uint32_t TwinBits(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b, float c) {
  std::vector<uint16_t> row(static_cast<size_t>(kTileSide * kTileDepth));
  std::vector<uint32_t> column(static_cast<size_t>(kTileUnits * kTileSide));
  std::vector<float> sums(static_cast<size_t>(kTileSide * kTileSide), c);
  for (size_t k = 0; k < a.size(); ++k) {
    row[k] = a[k];
    column[k / 2 * kTileSide] |= uint32_t{b[k]} << (k % 2 * 16);
  }
  TwinTiles().multiply({.blocks = 1,
                        .a = row.data(),
                        .a_stride = kTileDepth,
                        .b = column.data(),
                        .b_stride = kTileSide,
                        .c = sums.data(),
                        .ldc = kTileSide,
                        .accumulate = true,
                        .last = true});
  EXPECT_EQ(Bits(sums[0]), Bits(TileSum(a, b, c)));
  return Bits(sums[0]);
}

constexpr uint16_t kTwoToMinus63 = 0x2000;
constexpr uint16_t kTwoToMinus75 = 0x1a00;
constexpr uint16_t kMinus = 0x8000;

TEST_F(Twin, FlushesATinyResultEvenIfADenormalWouldRoundToTheSmallestNormalNumber) {
  // 2^-126 - 2^-150 has 24 bits, and is less than 2^-126.
  EXPECT_EQ(
      TwinBits({kTwoToMinus63, 0, kTwoToMinus75 | kMinus}, {kTwoToMinus63, 0, kTwoToMinus75}, 0),
      Bits(0));
  EXPECT_EQ(TwinBits({kTwoToMinus63}, {kTwoToMinus63}, 0), Bits(0x1p-126f));
}

TEST_F(Twin, ReadsDenormalsAsZero) {
  EXPECT_EQ(TwinBits({0x0001}, {0x7f00}, 0), Bits(0));
  EXPECT_EQ(TwinBits({0}, {0}, 0x1p-130f), Bits(0));
}

TEST_F(Twin, AChainThatEndsAtMinusZeroBecomesPlusZeroWhereTheBlockIsFilledUp) {
  EXPECT_EQ(TwinBits({kTwoToMinus75 | kMinus, kTwoToMinus75 | kMinus},
                     {kTwoToMinus75, kTwoToMinus75}, -0.0f),
            Bits(0));
}

TEST_F(Twin, EveryNanIsTheCanonicalOne) {
  constexpr uint32_t kCanonical = 0x7fc00000;
  constexpr uint16_t kInfinity = 0x7f80;
  EXPECT_EQ(TwinBits({0xffa5}, {0x3f80}, 0), kCanonical);
  EXPECT_EQ(TwinBits({kInfinity}, {0}, 0), kCanonical);
  EXPECT_EQ(TwinBits({kInfinity, 0x3f80}, {0x3f80, kInfinity | kMinus}, 0), kCanonical);
  EXPECT_EQ(TwinBits({0}, {0}, std::bit_cast<float>(0xff812345u)), kCanonical);
  EXPECT_EQ(TwinBits({kInfinity}, {0x3f80}, 1), Bits(INFINITY));
}

TEST_F(Twin, NeitherUsesNorChangesTheRoundingModeOfItsCaller) {
  std::mt19937 random(3);
  const DrawnBlock block(DrawnValues::kNormal, 3, random);
  const std::vector<float> expected = block.Product(TwinTiles(), 2, 2, true);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | _MM_ROUND_UP);
  const std::vector<float> product = block.Product(TwinTiles(), 2, 2, true);
  EXPECT_EQ(_mm_getcsr(), before | _MM_ROUND_UP);
  _mm_setcsr(before);
  EXPECT_EQ(product, expected);
}

}  // namespace
}  // namespace gp::engine
