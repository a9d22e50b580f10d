#include "tokenizer/gpt2_vocabulary.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "tokenizer/merges_text.h"

namespace gp {
namespace {

TEST(Gpt2Vocabulary, IsRecognisedToItsDigest) {
  const auto text = ReadGpt2Vocabulary();
  if (!text.ok()) GTEST_SKIP() << text.status();
  auto vocabulary = ParseNumberedMerges(*text);
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status();
  EXPECT_TRUE(IsGpt2Vocabulary(*vocabulary));
  std::swap(vocabulary->merges[100], vocabulary->merges[101]);
  EXPECT_FALSE(IsGpt2Vocabulary(*vocabulary));
}

TEST(Gpt2Vocabulary, AnotherOneIsNotTakenForIt) {
  EXPECT_FALSE(IsGpt2Vocabulary(*ParseNumberedMerges("h e\n")));
}

}  // namespace
}  // namespace gp
