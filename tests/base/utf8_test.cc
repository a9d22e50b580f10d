#include "base/utf8.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

TEST(Utf8, EveryCodePointComesBack) {
  for (char32_t value = 0; value <= 0x10ffff; ++value) {
    if (value >= 0xd800 && value <= 0xdfff) continue;
    std::string text;
    AppendCodePoint(value, text);
    std::string_view rest = text;
    ASSERT_EQ(TakeCodePoint(rest), value);
    ASSERT_TRUE(rest.empty());
  }
}

TEST(Utf8, RefusesLongFormsSurrogatesAndFragments) {
  for (const char* bytes : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80",
                            "\xed\xbf\xbf", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
                            "\xf8\x88\x80\x80\x80", "\xc3", "\xe2\x82", "\xc3("}) {
    std::string_view rest = bytes;
    EXPECT_EQ(TakeCodePoint(rest), std::nullopt) << bytes;
    EXPECT_EQ(rest, bytes);
  }
}

TEST(Utf8, ReplacesWhatIsNotText) {
  EXPECT_EQ(ValidUtf8("na\xc3\xafve \xe2\x88\x91", '?'), "na\xc3\xafve \xe2\x88\x91");
  EXPECT_EQ(ValidUtf8("a\xff\xc3z", '?'), "a??z");
  EXPECT_EQ(ValidUtf8("cut \xe2\x88", '?'), "cut ??");
}

}  // namespace
}  // namespace gp
