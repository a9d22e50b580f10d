#include "tokenizer/unicode_classes.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

TEST(UnicodeClasses, AreThoseOfTheSplittingRule) {
  for (const char32_t letter : {U'a', U'Z', U'\u00e9', U'\u4e2d', U'\u02bc', U'\U00020000'}) {
    EXPECT_TRUE(IsLetter(letter)) << static_cast<uint32_t>(letter);
    EXPECT_FALSE(IsNumber(letter) || IsSpace(letter));
  }
  for (const char32_t number : {U'0', U'\u00bd', U'\u0663', U'\u00b2', U'\u2167'}) {
    EXPECT_TRUE(IsNumber(number)) << static_cast<uint32_t>(number);
    EXPECT_FALSE(IsLetter(number) || IsSpace(number));
  }
  for (const char32_t space : {U' ', U'\n', U'\t', U'\u00a0', U'\u3000', U'\u2028'}) {
    EXPECT_TRUE(IsSpace(space)) << static_cast<uint32_t>(space);
  }
  for (const char32_t other : {U'!', U'_', U'\u180e', U'\u200b', U'\U0001f600', U'\u0301'}) {
    EXPECT_FALSE(IsLetter(other) || IsNumber(other) || IsSpace(other))
        << static_cast<uint32_t>(other);
  }
}

TEST(UnicodeClasses, NoCodePointHasTwo) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    ASSERT_LE(IsLetter(c) + IsNumber(c) + IsSpace(c), 1) << static_cast<uint32_t>(c);
  }
}

}  // namespace
}  // namespace gp
