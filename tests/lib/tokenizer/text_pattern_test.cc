#include "tokenizer/text_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp {
namespace {

// A vocabulary of the 256 bytes and these tokens.
BytePairVocabulary Learned(const std::vector<std::string>& tokens) {
  BytePairVocabulary vocabulary;
  for (int i = 0; i < 256; ++i) vocabulary.tokens.emplace_back(1, static_cast<char>(i));
  vocabulary.tokens.insert(vocabulary.tokens.end(), tokens.begin(), tokens.end());
  return vocabulary;
}

TEST(TextPattern, TokensInsideAPieceAreGpt2s) {
  EXPECT_TRUE(CheckGpt2Pattern(Learned({"he", " he", "42", "\xe4\xb8"})).ok());
}

TEST(TextPattern, TokensThatThePatternCutsAreNamed) {
  const Status status = CheckGpt2Pattern(Learned({"he", "he said", ".\n"}));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), testing::HasSubstr("splits 2 of the 3 learned tokens in two, as "
                                                  R"("he said" (257), ".\n" (258))"));
}

TEST(TextPattern, ASpecialTokenIsNotLearned) {
  BytePairVocabulary vocabulary = Learned({"he", "<|end of text|>"});
  vocabulary.special = {257};
  EXPECT_TRUE(CheckGpt2Pattern(vocabulary).ok());
}

}  // namespace
}  // namespace gp
