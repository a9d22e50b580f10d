// Goal: the digests that signatures and uploads are made of.
#include "storage/object/digest.h"

#include <gtest/gtest.h>

namespace gp::object {
namespace {

TEST(Digest, IsThatOfTheStandards) {
  EXPECT_EQ(Hex(Sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Hex(Md5("abc")), "900150983cd24fb0d6963f7d28e17f72");
  // RFC 4231, test case 2.
  EXPECT_EQ(Hex(HmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Digest, TextsOfBytes) {
  EXPECT_EQ(Hex(std::string("\0\xff\x10", 3)), "00ff10");
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
}

}  // namespace
}  // namespace gp::object
