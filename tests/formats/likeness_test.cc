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

template <typename Integer>
std::string BigEndianBytesOf(const std::vector<int64_t>& tokens) {
  std::string bytes;
  for (const int64_t token : tokens) {
    const std::string one = BytesOf<Integer>({token});
    bytes.append(one.rbegin(), one.rend());
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
    EXPECT_EQ(WiderTokens(bytes), std::nullopt) << vocabulary;
    EXPECT_EQ(WiderTokens(BigEndianBytesOf<uint16_t>(Tokens(vocabulary))), std::nullopt);
    EXPECT_FALSE(LooksLikeText(bytes)) << vocabulary;
  }
}

TEST(Tokens, OfMoreBytesAreRecognised) {
  for (const int64_t vocabulary : {65, 256, 50257, 100277, 200019}) {
    const std::vector<int64_t> tokens = Tokens(vocabulary);
    EXPECT_EQ(WiderTokens(BytesOf<uint32_t>(tokens)), (TokenForm{4, false})) << vocabulary;
    EXPECT_EQ(WiderTokens(BytesOf<int64_t>(tokens)), (TokenForm{8, false})) << vocabulary;
    EXPECT_EQ(WiderTokens(BigEndianBytesOf<uint32_t>(tokens)), (TokenForm{4, true})) << vocabulary;
    EXPECT_EQ(WiderTokens(BigEndianBytesOf<int64_t>(tokens)), (TokenForm{8, true})) << vocabulary;
  }
  EXPECT_EQ(WiderTokens("short"), std::nullopt);
}

TEST(Tokens, WithSwappedBytesAreRecognised) {
  for (const int64_t vocabulary : {10, 65, 256, 1000, 4096, 32000, 50257, 65536}) {
    for (const size_t count : {size_t{64}, size_t{300}, kTokens}) {
      std::vector<int64_t> tokens = Tokens(vocabulary);
      tokens.resize(count);
      EXPECT_FALSE(LooksByteSwapped(BytesOf<uint16_t>(tokens), vocabulary)) << vocabulary;
      // Of a vocabulary that fills two bytes every word is an id: the bytes' variety decides.
      if (vocabulary == 65536) continue;
      EXPECT_TRUE(LooksByteSwapped(BigEndianBytesOf<uint16_t>(tokens), vocabulary))
          << vocabulary << " " << count;
    }
  }
  EXPECT_FALSE(LooksByteSwapped(std::string(100, '\1'), 10)) << "too short for a guess";
  EXPECT_FALSE(LooksByteSwapped(std::string(4000, '\0'), 10));
}

// The model may have more ids than the tokens need.
TEST(Tokens, WithSwappedBytesAreRecognisedByTheBytesVariety) {
  for (const int64_t ids : {10, 65, 256, 1000, 4096}) {
    const std::vector<int64_t> tokens = Tokens(ids);
    EXPECT_FALSE(LooksByteSwapped(BytesOf<uint16_t>(tokens), 65536)) << ids;
    EXPECT_TRUE(LooksByteSwapped(BigEndianBytesOf<uint16_t>(tokens), 65536)) << ids;
  }
}

// They are of another tokenizer, in whichever order.
TEST(Tokens, OfALargerVocabularyAreNotCalledSwapped) {
  for (const int64_t vocabulary : {65, 256, 1000, 32000}) {
    EXPECT_FALSE(LooksByteSwapped(BytesOf<uint16_t>(Tokens(50257)), vocabulary)) << vocabulary;
  }
}

TEST(LooksLikeText, OfWords) {
  EXPECT_TRUE(LooksLikeText("A text that is named as tokens.\n"));
  EXPECT_TRUE(LooksLikeText("Straße und Übermut\n"));
  EXPECT_FALSE(LooksLikeText(""));
}

}  // namespace
}  // namespace gp::formats
