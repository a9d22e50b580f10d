#include "tokenizer/merges_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp {
namespace {

using ::testing::HasSubstr;

TEST(MergesText, IsWrittenAsItIsRead) {
  const std::string merges = "h e\nl l\nhe ll\n\u0120 w\n";
  const auto vocabulary = ParseNumberedMerges(kMergesVersion + merges);
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status();
  EXPECT_EQ(MergeLines(*vocabulary), merges);
  EXPECT_EQ(vocabulary->tokens[256], "he");
  EXPECT_EQ(vocabulary->tokens[259], " w");
  EXPECT_EQ(vocabulary->tokens[260], kEndOfText);
  EXPECT_TRUE(vocabulary->IsSpecial(260));
}

TEST(MergesText, NamesTheMergeThatIsDamaged) {
  const auto error = [](const char* merges) {
    return Message(ParseNumberedMerges(merges).status());
  };
  EXPECT_THAT(error("h e\nhello\n"), HasSubstr("line 2: the merge 'hello' is not two tokens"));
  EXPECT_THAT(error("h e\nhe l l\n"), HasSubstr("line 2: the merge 'he l l' is not two tokens"));
  EXPECT_THAT(error("he l\n"), HasSubstr("joins 'he', which is not in the vocabulary"));
  EXPECT_THAT(error("h e\nh e\n"),
              HasSubstr("line 2: the merge 'h e' the token 'he' occurs twice"));
  EXPECT_THAT(error("h \xe2\x82\xac\n"), HasSubstr("does not stand for a byte"));
  EXPECT_THAT(error("h \xff\n"), HasSubstr("does not stand for a byte"));
  EXPECT_THAT(error("\xef\xbb\xbfh e\n"), HasSubstr("line 1: begins with a byte order mark"));
}

}  // namespace
}  // namespace gp
