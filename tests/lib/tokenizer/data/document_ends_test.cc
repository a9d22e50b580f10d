#include "tokenizer/data/document_ends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/byte_tokenizer.h"

namespace gp {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DocumentEnds, TheTokenizersOwnIsLookedForToo) {
  ByteTokenizer tokenizer;
  EXPECT_THAT(DocumentEnds(tokenizer), ElementsAre("<|endoftext|>"));
  tokenizer.set_special_tokens({.eos = '|'});
  EXPECT_THAT(DocumentEnds(tokenizer), ElementsAre("<|endoftext|>", "|"));
  EXPECT_EQ(SpelledEndsOf(tokenizer, "a<|endoftext|>b|", ""),
            (formats::SpelledEnds{{"<|endoftext|>", 1}, {"|", 3}}));
  EXPECT_EQ(SpelledEndsOf(tokenizer, "a<|endoftext|>b|", "|"),
            (formats::SpelledEnds{{"<|endoftext|>", 1}}));
}

TEST(DocumentEnds, WarningsNameTheKeyAndTheWay) {
  EXPECT_THAT(SpelledEndWarnings({{"<|endoftext|>", 2}, {"</s>", 1}}, "data.text"),
              ElementsAre(AllOf(HasSubstr("data.text contains <|endoftext|> 2 times"),
                                HasSubstr("data.split_on: '<|endoftext|>'")),
                          HasSubstr("data.text contains </s> once")));
}

TEST(DocumentEnds, DocumentsBeginWithTheEndOfText) {
  const auto tokenizer = *BytePairTokenizer::FromMerges("a b\n");
  const int32_t end = *tokenizer->end_of_text();
  const std::vector<int32_t> ab = *tokenizer->Encode("ab"), a = *tokenizer->Encode("a");
  for (const int threads : {1, 4}) {
    EXPECT_THAT(*EncodeDocuments(*tokenizer, "ab##\n####a##", "##", threads),
                ElementsAre(end, ab[0], end, a[0]));
  }
  EXPECT_THAT(*EncodeDocuments(*tokenizer, "", "##", 1), ElementsAre());
  EXPECT_THAT(Message(EncodeDocuments(ByteTokenizer(), "a##b", "##", 1).status()),
              HasSubstr("data.split_on: the tokenizer has no end-of-text token"));
}

}  // namespace
}  // namespace gp
