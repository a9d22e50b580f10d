#include "tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/byte_tokenizer.h"
#include "tokenizer/char_tokenizer.h"

namespace gp {
namespace {

using ::testing::HasSubstr;

TEST(ByteTokenizer, EveryByteComesBack) {
  std::string text;
  for (int i = 0; i < 256; ++i) text.push_back(static_cast<char>(i));
  const ByteTokenizer tokenizer;
  const auto tokens = *tokenizer.Encode(text);
  EXPECT_EQ(tokens[200], 200);
  EXPECT_EQ(tokenizer.Decode(tokens), text);
  EXPECT_EQ(tokenizer.Decode(std::vector<int32_t>{65, 256, -1}), "A\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(CharTokenizer, NumbersTheSortedDistinctCharacters) {
  const auto tokenizer = CharTokenizer::FromText("hello\nwörld €😀");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ((*tokenizer)->vocabulary_size(), 12);
  EXPECT_EQ(*(*tokenizer)->Encode("\n d"), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(*(*tokenizer)->Encode("ö€😀"), (std::vector<int32_t>{9, 10, 11}));
  EXPECT_EQ((*tokenizer)->Decode(*(*tokenizer)->Encode("wörld €😀")), "wörld €😀");
  EXPECT_EQ((*tokenizer)->Decode(std::vector<int32_t>{99}), "\xef\xbf\xbd");
}

TEST(CharTokenizer, CutsATextBetweenCharacters) {
  const auto tokenizer = CharTokenizer::FromText("a€b");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ((*tokenizer)->CutAfter("a€b", 1), 1u);
  EXPECT_EQ((*tokenizer)->CutAfter("a€b", 2), 4u);
  EXPECT_EQ((*tokenizer)->CutAfter("a€b", 3), 4u);
  EXPECT_EQ((*tokenizer)->CutAfter("a€", 2), 4u);
}

TEST(CharTokenizer, NamesTheCharacterAndPlaceItCannotExpress) {
  const auto tokenizer = CharTokenizer::FromText("abc");
  EXPECT_THAT(Message((*tokenizer)->Encode("abé").status()), HasSubstr("'é' (U+00E9) at offset 2"));
  EXPECT_THAT(Message(CharTokenizer::FromText("ab\xff").status()), HasSubstr("0xff at offset 2"));
  EXPECT_FALSE(CharTokenizer::FromText("").ok());
}

TEST(Tokenizer, SerializedFormComesBackEqual) {
  const auto chars = CharTokenizer::FromText("zebra €");
  const ByteTokenizer bytes;
  for (const Tokenizer* tokenizer :
       {static_cast<const Tokenizer*>(chars->get()), static_cast<const Tokenizer*>(&bytes)}) {
    const auto back = ParseTokenizer(tokenizer->Serialized());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ((*back)->kind(), tokenizer->kind());
    EXPECT_EQ((*back)->Fingerprint(), tokenizer->Fingerprint());
    EXPECT_EQ(*(*back)->Encode("zebra"), *tokenizer->Encode("zebra"));
  }
}

TEST(Tokenizer, RefusesDamagedSerializedForms) {
  const std::string good = (*CharTokenizer::FromText("abc"))->Serialized();
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ParseTokenizer(good.substr(0, size)).ok()) << size;
  }
  for (const char* text :
       {"[]", "{}", R"({"kind":5})", R"({"kind":"words"})", R"({"kind":"chars"})",
        R"({"kind":"chars","characters":[]})", R"({"kind":"chars","characters":[98,97]})",
        R"({"kind":"chars","characters":[97,97]})", R"({"kind":"chars","characters":["a"]})",
        R"({"kind":"chars","characters":[1114112]})"}) {
    EXPECT_FALSE(ParseTokenizer(text).ok()) << text;
  }
}

}  // namespace
}  // namespace gp
