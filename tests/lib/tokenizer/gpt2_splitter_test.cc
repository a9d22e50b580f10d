#include "tokenizer/gpt2_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Pieces(std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) pieces.emplace_back(TakePiece(text));
  return pieces;
}

TEST(Gpt2Splitter, FollowsTheRule) {
  EXPECT_THAT(Pieces("Hello world42 ok!?"), ElementsAre("Hello", " world", "42", " ok", "!?"));
  EXPECT_THAT(Pieces("it's we'll THEY'VE"),
              ElementsAre("it", "'s", " we", "'ll", " THEY", "'", "VE"));
  EXPECT_THAT(Pieces("a  b"), ElementsAre("a", " ", " b"));
  EXPECT_THAT(Pieces("a\n\n\tb"), ElementsAre("a", "\n\n", "\t", "b"));
  EXPECT_THAT(Pieces("end  "), ElementsAre("end", "  "));
  EXPECT_THAT(Pieces(" \xff\xfe x"), ElementsAre(" \xff\xfe", " x"));
  EXPECT_THAT(Pieces("naïve 中文 ½٣"), ElementsAre("naïve", " 中文", " ½٣"));
}

TEST(Gpt2Splitter, APieceIsOneWhenNothingSurroundsIt) {
  for (const char* piece : {"Hello", " world", "'ll", "42", "\n\n", "!?"}) {
    EXPECT_TRUE(IsPiece(piece)) << piece;
  }
  for (const char* other : {"", "a b", "a1", "we'll", " \n a"})
    EXPECT_FALSE(IsPiece(other)) << other;
}

TEST(Gpt2Splitter, APieceStartsAtWhiteSpaceThatFollowsSomethingElse) {
  EXPECT_EQ(FindPieceStart("ab cd", 0), 2u);
  EXPECT_EQ(FindPieceStart("ab  cd", 3), 6u) << "not at white space after white space";
  EXPECT_EQ(FindPieceStart(" ab", 0), 3u) << "not at the first place";
  EXPECT_EQ(FindPieceStart("ab", 0), 2u);
}

}  // namespace
}  // namespace gp
