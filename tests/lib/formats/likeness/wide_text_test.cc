#include "formats/likeness/wide_text.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/text/utf8.h"
#include "lib/formats/token_bytes.h"

namespace gp::formats {
namespace {

using namespace std::string_view_literals;

std::vector<int64_t> CharactersOf(std::string_view text) {
  std::vector<int64_t> characters;
  while (const auto character = TakeCodePoint(text)) characters.push_back(*character);
  return characters;
}

TEST(WideEncoding, IsRecognisedInManyLanguages) {
  for (const char* text :
       {"A text of some length in another encoding.\n", "Hello world\n", "Straße und Übermut\n",
        "Съешь же ещё этих мягких французских булок.\n", "Η γρήγορη αλεπού πηδά πάνω\n",
        "床前明月光，疑是地上霜。\n举头望明月，低头思故乡。\n",
        "これは日本語の文章です。\n次の行です。\n", "다람쥐 헌 쳇바퀴에 타고파\n",
        "صباح الخير يا صديقي\n", "यह एक वाक्य है\n",
        "for (int i = 0; i < n; ++i) {\n\tx[i] = 0;\r\n}\n",
        "Příliš žluťoučký kůň úpěl ďábelské ódy, a to je všechno.\n",
        "Tôi không biết nói tiếng Việt, nhưng tôi muốn học.\n",
        "Pchnąć w tę łódź jeża lub ośm skrzyń fig\n",
        "\"Don\xe2\x80\x99t,\" she said \xe2\x80\x94 and left.\n"}) {
    const std::vector<int64_t> characters = CharactersOf(text);
    EXPECT_EQ(WideEncoding(BytesOf<uint16_t>(characters)), "UTF-16LE") << text;
    EXPECT_EQ(WideEncoding(BigEndianBytesOf<uint16_t>(characters)), "UTF-16BE") << text;
    EXPECT_EQ(WideEncoding(BytesOf<uint32_t>(characters)), "UTF-32LE") << text;
    EXPECT_EQ(WideEncoding(BigEndianBytesOf<uint32_t>(characters)), "UTF-32BE") << text;
    EXPECT_EQ(WideEncoding(text), std::nullopt) << text;
  }
}

TEST(WideEncoding, PairsOfSurrogatesAreCharacters) {
  std::vector<int64_t> units;
  for (int i = 0; i < 20; ++i) {
    for (const int64_t unit : {0xd83d, 0xde00, 0xd83d, 0xde80 + i, 0x20, 0xd83c, 0xdf89, 0x0a}) {
      units.push_back(unit);
    }
  }
  EXPECT_EQ(WideEncoding(BytesOf<uint16_t>(units)), "UTF-16LE");
  EXPECT_EQ(WideEncoding(BigEndianBytesOf<uint16_t>(units)), "UTF-16BE");
  std::reverse(units.begin(), units.end());
  EXPECT_EQ(WideEncoding(BytesOf<uint16_t>(units)), std::nullopt);
}

TEST(WideEncoding, OfTokensIsNone) {
  for (const int64_t vocabulary : {2, 4, 30, 65, 128, 256, 384, 512, 1024, 5000, 50257, 65536}) {
    const std::vector<int64_t> tokens = Tokens(vocabulary);
    EXPECT_EQ(WideEncoding(BytesOf<uint16_t>(tokens)), std::nullopt) << vocabulary;
    EXPECT_EQ(WideEncoding(BigEndianBytesOf<uint16_t>(tokens)), std::nullopt) << vocabulary;
    EXPECT_EQ(WideEncoding(BytesOf<uint32_t>(tokens)), std::nullopt) << vocabulary;
  }
  EXPECT_EQ(WideEncoding(""), std::nullopt);
  EXPECT_EQ(WideEncoding(BytesOf<uint16_t>(std::vector<int64_t>(1000, ' '))), std::nullopt);
}

TEST(WideEncodingOfAscii, IsCertainFromFourBytes) {
  EXPECT_EQ(WideEncodingOfAscii("{\0\"\0"sv), "UTF-16LE");
  EXPECT_EQ(WideEncodingOfAscii("\0{\0}"sv), "UTF-16BE");
  EXPECT_EQ(WideEncodingOfAscii("{\0\0\0"sv), "UTF-32LE");
  EXPECT_EQ(WideEncodingOfAscii("\0\0\0{"sv), "UTF-32BE");
  for (const std::string_view text : {"{\"a\":1}"sv, "{}"sv, "{\0"sv, ""sv, "\0\0\0\0"sv,
                                      "a\0b\0"sv.substr(0, 3), "\xe9\0a\0"sv}) {
    EXPECT_EQ(WideEncodingOfAscii(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace gp::formats
