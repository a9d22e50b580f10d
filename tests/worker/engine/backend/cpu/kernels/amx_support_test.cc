// Goal: tiles are used only if processor, kernel and comparison allow it, and the reason against
// them is said. The comparison finds a single different bit in any class of block.
#include "worker/engine/backend/cpu/kernels/amx_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace gp::engine {
namespace {

using ::testing::HasSubstr;

TEST(AmxSupport, IsUsableIfAllThreeConditionsHold) {
  const AmxSupport support =
      FindAmx({[] { return true; }, [] { return 0; }, [] { return std::string(); }});
  EXPECT_TRUE(support.usable);
  EXPECT_EQ(support.why_not, "");
}

TEST(AmxSupport, AProcessorWithoutTilesIsAskedNothingMore) {
  const AmxSupport support =
      FindAmx({[] { return false; }, []() -> int { throw std::logic_error("asked"); },
               []() -> std::string { throw std::logic_error("asked"); }});
  EXPECT_FALSE(support.usable);
  EXPECT_EQ(support.why_not, "this processor has no AMX");
}

TEST(AmxSupport, ARefusalOfTheKernelIsQuotedAndNothingIsComputed) {
  const AmxSupport support = FindAmx({[] { return true; }, [] { return EPERM; },
                                      []() -> std::string { throw std::logic_error("computed"); }});
  EXPECT_FALSE(support.usable);
  EXPECT_THAT(support.why_not, HasSubstr("the kernel refuses the tile registers of AMX"));
  EXPECT_THAT(support.why_not, HasSubstr("Operation not permitted"));
}

TEST(AmxSupport, OneDifferentBitIsEnoughNotToUseThem) {
  const AmxSupport support = FindAmx({[] { return true; }, [] { return 0; },
                                      [] { return std::string("32 x 16 x 32, any bits"); }});
  EXPECT_FALSE(support.usable);
  EXPECT_THAT(support.why_not, HasSubstr("different bits for a product (32 x 16 x 32, any bits)"));
}

TEST(AmxSupport, OfThisProcessIsAskedOnce) { EXPECT_EQ(&Amx(), &Amx()); }

// Adds the blocks one at a time, as a kernel does that stores C after each.
void MultiplyOneByOne(const TileBlock& block) {
  TileBlock one = block;
  one.blocks = 1;
  for (int64_t k = 0; k < block.blocks; ++k) {
    one.last = block.last && k + 1 == block.blocks;
    TwinTiles().multiply(one);
    one.a += kTileDepth;
    one.b += kTileUnits * block.b_stride;
    one.accumulate = true;
  }
}

TEST(FirstDifference, IsEmptyForAnotherKernelOfTheSameArithmetic) {
  if (!IsaSupported(Isa::kAmx)) GTEST_SKIP() << "this processor has no AVX-512";
  Tiles other = TwinTiles();
  other.multiply = &MultiplyOneByOne;
  EXPECT_EQ(FirstDifference(other, TwinTiles()), "");
}

void FlipABitOfTheLastElement(const TileBlock& block) {
  TwinTiles().multiply(block);
  if (block.row_tiles != 2 || block.column_tiles != 1 || block.blocks != 7) return;
  reinterpret_cast<uint32_t*>(block.c)[31 * block.ldc + 15] ^= 1;
}

TEST(FirstDifference, NamesTheClassOfBlock) {
  if (!IsaSupported(Isa::kAmx)) GTEST_SKIP() << "this processor has no AVX-512";
  Tiles other = TwinTiles();
  other.multiply = &FlipABitOfTheLastElement;
  EXPECT_EQ(FirstDifference(other, TwinTiles()), "32 x 16 x 224, ordinary values");
}

void KeepNan(const TileBlock& block) {
  TileBlock kept = block;
  kept.last = false;
  TwinTiles().multiply(kept);
}

TEST(FirstDifference, ComparesTheBitsOfNan) {
  if (!IsaSupported(Isa::kAmx)) GTEST_SKIP() << "this processor has no AVX-512";
  Tiles other = TwinTiles();
  other.multiply = &KeepNan;
  EXPECT_THAT(FirstDifference(other, TwinTiles()), HasSubstr("any bits"));
}

}  // namespace
}  // namespace gp::engine
