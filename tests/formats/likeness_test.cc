#include "formats/likeness.h"

#include <gmock/gmock.h>

#include <random>
#include <vector>

namespace gp::formats {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

constexpr size_t kTokens = 2000;

template <typename Integer>
std::string BytesOf(const std::vector<int64_t>& tokens) {
  std::string bytes;
  for (const int64_t token : tokens) {
    const auto value = static_cast<Integer>(token);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

// Ids as a text has them: small ones often, large ones seldom.
std::vector<int64_t> Tokens(int64_t vocabulary) {
  std::minstd_rand random(7);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<int64_t> tokens;
  for (size_t i = 0; i < kTokens; ++i) {
    tokens.push_back(
        static_cast<int64_t>(static_cast<double>(vocabulary) * share(random) * share(random)));
  }
  return tokens;
}

std::string WhatIfText(const std::string& begin) {
  const auto likeness = UnlikeText(begin);
  return likeness ? likeness->what : "text";
}

std::string Wide(std::string_view text, size_t width, size_t character) {
  std::string wide;
  for (const char c : text) {
    std::string one(width, '\0');
    one[character] = c;
    wide += one;
  }
  return wide;
}

TEST(UnlikeText, TakesWhatPeopleTrainOn) {
  for (const std::string& text :
       {""s, "a"s, "A sentence.\n"s, "Straße, naïve, 日本語, Привет\n"s, "[1] A footnote.\n"s,
        "[12, 13]"s, "{x: a set}"s, "{ return 1; }"s, "ACGTACGT"s, "tab\tseparated\r\n"s,
        "\x1b[1mbold\x1b[0m of a terminal"s, "one bad byte \xff in a long text of many words"s,
        "ok \xff no"s}) {
    EXPECT_EQ(WhatIfText(text), "text") << text;
  }
}

TEST(UnlikeText, ACharacterThatTheEndCutsIsNoDamage) {
  std::string text;
  while (text.size() < kLikenessBytes) text += "日";
  EXPECT_EQ(WhatIfText(text.substr(0, kLikenessBytes)), "text");
}

TEST(UnlikeText, RecognisesWideEncodingsWithoutAMark) {
  const std::string text = "A text of some length in another encoding.\n";
  EXPECT_EQ(WhatIfText(Wide(text, 2, 0)), "text in UTF-16LE");
  EXPECT_EQ(WhatIfText(Wide(text, 2, 1)), "text in UTF-16BE");
  EXPECT_EQ(WhatIfText(Wide(text, 4, 0)), "text in UTF-32LE");
  EXPECT_EQ(WhatIfText(Wide(text, 4, 3)), "text in UTF-32BE");
}

TEST(UnlikeText, RecognisesTokensAndOtherAlphabets) {
  EXPECT_THAT(WhatIfText(BytesOf<uint16_t>(Tokens(50257))), HasSubstr("binary data"));
  EXPECT_THAT(WhatIfText(BytesOf<uint32_t>(Tokens(100277))), HasSubstr("binary data"));
  EXPECT_THAT(WhatIfText("\xcf\xf0\xe8\xe2\xe5\xf2 \xec\xe8\xf0"), HasSubstr("that are not UTF-8"));
}

TEST(UnlikeText, RecognisesJson) {
  EXPECT_EQ(WhatIfText("{\"text\": \"a\"}\n{\"text\": \"b\"}\n"), "lines of JSON");
  EXPECT_EQ(WhatIfText("\n  { \"text\": \"a\"}"), "lines of JSON");
  EXPECT_EQ(WhatIfText("{\"text\": \"" + std::string(kLikenessBytes, 'x')), "lines of JSON");
  EXPECT_EQ(WhatIfText("{\n  \"text\": \"a\"\n}\n"), "a JSON document");
  EXPECT_EQ(WhatIfText("[\n  {\"text\": \"a\"}\n]\n"), "a list in JSON");
  EXPECT_EQ(WhatIfText("[\"a\", \"b\"]"), "a list in JSON");
}

TEST(Tokens, OfTwoBytesAreNeitherWiderNorText) {
  for (const int64_t vocabulary : {2, 4, 30, 65, 256, 1000, 50257, 65536}) {
    const std::string bytes = BytesOf<uint16_t>(Tokens(vocabulary));
    EXPECT_EQ(WiderTokenBytes(bytes), std::nullopt) << vocabulary;
    EXPECT_FALSE(LooksLikeText(bytes)) << vocabulary;
  }
}

TEST(Tokens, OfMoreBytesAreRecognised) {
  for (const int64_t vocabulary : {65, 256, 50257, 100277, 200019}) {
    EXPECT_EQ(WiderTokenBytes(BytesOf<uint32_t>(Tokens(vocabulary))), 4) << vocabulary;
    EXPECT_EQ(WiderTokenBytes(BytesOf<int64_t>(Tokens(vocabulary))), 8) << vocabulary;
  }
  EXPECT_EQ(WiderTokenBytes("short"), std::nullopt);
}

TEST(LooksLikeText, OfWords) {
  EXPECT_TRUE(LooksLikeText("A text that is named as tokens.\n"));
  EXPECT_TRUE(LooksLikeText("Straße und Übermut\n"));
  EXPECT_FALSE(LooksLikeText(""));
}

}  // namespace
}  // namespace gp::formats
