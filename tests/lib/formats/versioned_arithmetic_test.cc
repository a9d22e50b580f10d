#include "formats/versioned_arithmetic.h"

#include <gtest/gtest.h>

namespace gp::formats {
namespace {

TEST(VersionedArithmetic, TheFirstVersionHasNoNumber) {
  EXPECT_EQ(Text({"muon"}), "muon");
  const VersionedArithmetic parsed = ParseVersionedArithmetic("muon");
  EXPECT_EQ(parsed.name, "muon");
  EXPECT_EQ(parsed.version, 1);
}

TEST(VersionedArithmetic, LaterVersionsFollowTheName) {
  EXPECT_EQ(Text({"avx512", 12}), "avx512@12");
  const VersionedArithmetic parsed = ParseVersionedArithmetic("avx512@12");
  EXPECT_EQ(parsed.name, "avx512");
  EXPECT_EQ(parsed.version, 12);
}

// So that it is refused as an unknown name.
TEST(VersionedArithmetic, OtherTextIsAName) {
  for (const char* text : {"muon@", "muon@x", "muon@2x", "muon@1", "muon@02", "muon@ 2",
                           "muon@99999999999999999999", ""}) {
    const VersionedArithmetic parsed = ParseVersionedArithmetic(text);
    EXPECT_EQ(parsed.name, text);
    EXPECT_EQ(parsed.version, 1) << text;
  }
}

}  // namespace
}  // namespace gp::formats
