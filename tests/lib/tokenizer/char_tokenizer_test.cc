#include "tokenizer/char_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp {
namespace {

using ::testing::HasSubstr;

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
  EXPECT_THAT(Message((*tokenizer)->Encode("abé").status()),
              HasSubstr("'é' (U+00E9) at character offset 2"));
  const auto wide = CharTokenizer::FromText("a€");
  EXPECT_THAT(Message((*wide)->Encode("a€é").status()), HasSubstr("at character offset 2"));
  EXPECT_THAT(Message(CharTokenizer::FromText("ab\xff").status()),
              HasSubstr("0xff at byte offset 2"));
  EXPECT_FALSE(CharTokenizer::FromText("").ok());
}

}  // namespace
}  // namespace gp
