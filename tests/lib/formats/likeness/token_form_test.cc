#include "formats/likeness/token_form.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

#include "formats/likeness/likeness.h"
#include "formats/likeness/wide_text.h"
#include "lib/formats/token_bytes.h"

namespace gp::formats {
namespace {

TEST(Tokens, OfTwoBytesAreNeitherWiderNorText) {
  for (const int64_t vocabulary : {2, 4, 30, 65, 256, 1000, 50257, 65536}) {
    const std::string bytes = BytesOf<uint16_t>(Tokens(vocabulary));
    EXPECT_EQ(WiderTokens(bytes), std::nullopt) << vocabulary;
    EXPECT_EQ(WiderTokens(BigEndianBytesOf<uint16_t>(Tokens(vocabulary))), std::nullopt);
    EXPECT_FALSE(LooksLikeText(bytes)) << vocabulary;
  }
}

TEST(Tokens, OfOneByteAreRecognised) {
  for (const int64_t vocabulary : {4, 28, 65, 128}) {
    EXPECT_TRUE(LooksLikeOneByteTokens(BytesOf<uint8_t>(Tokens(vocabulary)) +
                                       BytesOf<uint8_t>(Tokens(vocabulary))))
        << vocabulary;
  }
  for (const int64_t vocabulary : {4, 65, 128, 256, 1000, 50257, 65536}) {
    EXPECT_FALSE(LooksLikeOneByteTokens(BytesOf<uint16_t>(Tokens(vocabulary)))) << vocabulary;
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

// `tokens` after applying `change` to each id.
std::vector<int64_t> Each(std::vector<int64_t> tokens,
                          const std::function<int64_t(size_t at, int64_t token)>& change) {
  for (size_t at = 0; at < tokens.size(); ++at) tokens[at] = change(at, tokens[at]);
  return tokens;
}

std::vector<int64_t> First(std::vector<int64_t> tokens, size_t count) {
  tokens.resize(count);
  return tokens;
}

std::vector<int64_t> Plus(int64_t number, const std::vector<int64_t>& tokens) {
  return Each(tokens, [number](size_t, int64_t token) { return token + number; });
}

// Labels in which every third token, starting with the first, is masked.
std::vector<int64_t> Masked(int64_t mask, const std::vector<int64_t>& tokens) {
  return Each(tokens, [mask](size_t at, int64_t token) { return at % 3 == 0 ? mask : token; });
}

std::vector<int64_t> Padded(const std::vector<int64_t>& tokens) {
  return Each(tokens, [](size_t at, int64_t token) { return at % 10 < 3 ? token : 0; });
}

std::vector<int64_t> CountingFrom(int64_t first) {
  return Each(std::vector<int64_t>(kTokenCount),
              [first](size_t at, int64_t) { return first + static_cast<int64_t>(at); });
}

TEST(Tokens, OfFourBytesAreRecognisedWhateverTheirUpperWordsAre) {
  const struct {
    const char* what;
    std::vector<int64_t> tokens;
  } cases[] = {
      {"all of 65536 or more", Plus(65536, Tokens(34741))},
      {"all of 65536 or more, of a vocabulary that is larger", Plus(65536, Tokens(134483))},
      {"all of 131072 or more", Plus(131072, Tokens(68947))},
      {"from 65536 on", CountingFrom(65536)},
      {"across 65536", CountingFrom(65536 - 1000)},
      {"of Gemma's vocabulary", Tokens(262208)},
      {"of a vocabulary of a million", Tokens(1'000'000)},
      {"of bytes", Tokens(256)},
      {"of the four letters of DNA", Tokens(4)},
      {"padded with 0", Padded(Tokens(50257))},
      {"padded with 0, of a large vocabulary", Padded(Tokens(200019))},
      {"zeros and ones", Each(Tokens(1000), [](size_t, int64_t t) { return t % 2; })},
      {"of 65536 or more, most of them of one script", Plus(65536, Tokens(250))},
      {"nine of them", First(Tokens(50257), 9)},
      {"nine of a large vocabulary", First(Plus(65536, Tokens(34741)), 9)},
      {"five of them", First(Tokens(50257), 5)},
      {"eleven characters", First(Tokens(65), 11)},
  };
  for (const auto& [what, tokens] : cases) {
    EXPECT_EQ(WiderTokens(BytesOf<uint32_t>(tokens)), (TokenForm{4, false})) << what;
    EXPECT_EQ(WiderTokens(BigEndianBytesOf<uint32_t>(tokens)), (TokenForm{4, true})) << what;
    EXPECT_EQ(WiderTokens(BytesOf<int64_t>(tokens)), (TokenForm{8, false})) << what;
    EXPECT_EQ(WiderTokens(BigEndianBytesOf<int64_t>(tokens)), (TokenForm{8, true})) << what;
  }
}

TEST(Tokens, WithMasksAreRecognised) {
  const struct {
    const char* what;
    std::vector<int64_t> tokens;
  } cases[] = {
      {"-100 of every three", Masked(-100, Tokens(50257))},
      {"-100 among ids of a large vocabulary", Masked(-100, Tokens(151'936))},
      {"-100 among characters", Masked(-100, Tokens(65))},
      {"-2 among ids", Masked(-2, Tokens(50257))},
      {"-100 alone", std::vector<int64_t>(kTokenCount, -100)},
      {"a masked prompt",
       Each(Tokens(50257), [](size_t at, int64_t t) { return at < 1900 ? -100 : t; })},
      {"nine labels", First(Masked(-100, Tokens(50257)), 9)},
  };
  for (const auto& [what, tokens] : cases) {
    EXPECT_EQ(WiderTokens(BytesOf<int32_t>(tokens)), (TokenForm{4, false, true})) << what;
    EXPECT_EQ(WiderTokens(BigEndianBytesOf<int32_t>(tokens)), (TokenForm{4, true, true})) << what;
    EXPECT_EQ(WiderTokens(BytesOf<int64_t>(tokens)), (TokenForm{8, false, true})) << what;
    EXPECT_EQ(WiderTokens(BigEndianBytesOf<int64_t>(tokens)), (TokenForm{8, true, true})) << what;
  }
  // -1 has all bits set in every width, so the sign cannot be told.
  EXPECT_EQ(WiderTokens(BytesOf<int32_t>(Masked(-1, Tokens(50257)))), (TokenForm{4, false}));
  EXPECT_EQ(WiderTokens(BytesOf<int64_t>(Masked(-1, Tokens(50257)))), (TokenForm{8, false}));
}

// `tokens` with every second one replaced by one of `others`.
std::vector<int64_t> Between(const std::vector<int64_t>& tokens,
                             const std::vector<int64_t>& others) {
  return Each(tokens, [&](size_t at, int64_t token) {
    return at % 2 == 0 ? token : others[at / 2 % others.size()];
  });
}

TEST(Tokens, OfTwoBytesThatTextMakesAreTakenAsTheyAre) {
  const struct {
    const char* what;
    std::vector<int64_t> tokens;
  } cases[] = {
      {"GPT-2's ids", Tokens(50257)},
      {"few of GPT-2's ids", First(Tokens(50257), 20)},
      {"characters", Tokens(65)},
      {"few characters", First(Tokens(65), 20)},
      {"characters of many scripts", Tokens(5000)},
      {"bytes", Tokens(256)},
      {"DNA", Tokens(4)},
      {"zeros and ones", Tokens(2)},
      {"one id, 0", std::vector<int64_t>(kTokenCount, 0)},
      {"one id, 1", std::vector<int64_t>(kTokenCount, 1)},
      {"one id, 50256", std::vector<int64_t>(kTokenCount, 50256)},
      {"one id, 65535", std::vector<int64_t>(kTokenCount, 65535)},
      {"words and commas (11)", Between(Tokens(50257), {11})},
      {"numbers in lines and columns (11, 198)", Between(Tokens(1000), {11, 11, 198})},
      {"words and blanks (220)", Between(Tokens(50257), {220})},
      {"letters between blanks and newlines (1, 0)", Between(Plus(2, Tokens(63)), {1, 1, 0})},
      {"Chinese characters between blanks and newlines",
       Between(Plus(90, Tokens(4000)), {1, 1, 0})},
      {"a word again and again", Between(std::vector<int64_t>(kTokenCount, 262), {1})},
      {"two ids in turn", Between(std::vector<int64_t>(kTokenCount, 0), {5})},
      {"padded with 0", Padded(Tokens(50257))},
      {"padded with 50256",
       Each(Tokens(50257), [](size_t at, int64_t t) { return at % 20 < 3 ? t : 50256; })},
      {"padded with 65535",
       Each(Tokens(65), [](size_t at, int64_t t) { return at % 20 < 3 ? t : 65535; })},
      {"a text of 40 tokens and 0 to the end",
       Each(Tokens(50257), [](size_t at, int64_t t) { return at < 40 ? t : 0; })},
      {"a small tokenizer's ids", Tokens(512)},
      {"notes and their lengths", Between(Plus(21, Tokens(88)), {4, 8, 2, 16, 4})},
  };
  for (const auto& [what, tokens] : cases) {
    const std::string bytes = BytesOf<uint16_t>(tokens);
    EXPECT_EQ(WiderTokens(bytes), std::nullopt) << what;
    EXPECT_FALSE(LooksLikeText(bytes)) << what;
    EXPECT_EQ(WideEncoding(bytes), std::nullopt) << what;
  }
}

TEST(Tokens, WithSwappedBytesAreRecognised) {
  for (const int64_t vocabulary : {10, 65, 256, 1000, 4096, 32000, 50257, 65536}) {
    for (const size_t count : {size_t{64}, size_t{300}, kTokenCount}) {
      std::vector<int64_t> tokens = Tokens(vocabulary);
      tokens.resize(count);
      EXPECT_FALSE(LooksByteSwapped(BytesOf<uint16_t>(tokens), vocabulary)) << vocabulary;
      // If the vocabulary uses all 65536 ids, every word is a valid id, and only the variety of its
      // bytes shows swapping.
      if (vocabulary == 65536) continue;
      EXPECT_TRUE(LooksByteSwapped(BigEndianBytesOf<uint16_t>(tokens), vocabulary))
          << vocabulary << " " << count;
    }
  }
  EXPECT_FALSE(LooksByteSwapped(std::string(100, '\1'), 10)) << "too short for a guess";
  EXPECT_FALSE(LooksByteSwapped(std::string(4000, '\0'), 10));
}

// The model's vocabulary may be larger than the ids that occur.
TEST(Tokens, WithSwappedBytesAreRecognisedByTheBytesVariety) {
  for (const int64_t ids : {10, 65, 256, 1000, 4096}) {
    const std::vector<int64_t> tokens = Tokens(ids);
    EXPECT_FALSE(LooksByteSwapped(BytesOf<uint16_t>(tokens), 65536)) << ids;
    EXPECT_TRUE(LooksByteSwapped(BigEndianBytesOf<uint16_t>(tokens), 65536)) << ids;
  }
}

// The tokens belong to another tokenizer, in either byte order.
TEST(Tokens, OfALargerVocabularyAreNotCalledSwapped) {
  for (const int64_t vocabulary : {65, 256, 1000, 32000}) {
    EXPECT_FALSE(LooksByteSwapped(BytesOf<uint16_t>(Tokens(50257)), vocabulary)) << vocabulary;
  }
}

}  // namespace
}  // namespace gp::formats
