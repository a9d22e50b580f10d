#include "tokenizer/files/tiktoken_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp {
namespace {

using ::testing::HasSubstr;

std::string Base64(unsigned char byte) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return {kDigits[byte >> 2], kDigits[(byte & 3) << 4], '=', '='};
}

// Lines for the 256 bytes, with ranks 0 to 255.
std::string ByteLines() {
  std::string lines;
  for (int i = 0; i < 256; ++i) {
    lines += Base64(static_cast<unsigned char>(i)) + " " + std::to_string(i) + "\n";
  }
  return lines;
}

TEST(TiktokenText, RanksAreIdsAndMergesFollow) {
  const auto vocabulary = ParseTiktoken(ByteLines() + "aGU= 256\nbGw= 257\naGVsbA== 258\n");
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status();
  EXPECT_EQ(vocabulary->tokens[258], "hell");
  EXPECT_EQ(vocabulary->merges.back(), (BytePairMerge{256, 257, 258}));
  EXPECT_EQ(vocabulary->tokens[259], kEndOfText);
  EXPECT_TRUE(vocabulary->IsSpecial(259));
}

TEST(TiktokenText, NamesTheLineThatIsDamaged) {
  const auto error = [](const std::string& text) { return Message(ParseTiktoken(text).status()); };
  EXPECT_THAT(error("IQ==\n"), HasSubstr("line 1 ('IQ=='): expected a token in base64"));
  EXPECT_THAT(error("I?== 0\n"), HasSubstr("expected a token in base64"));
  EXPECT_THAT(error("IQ== 0\nIg== 5\n"), HasSubstr("line 2 ('Ig== 5'): the rank is 5, expected 1"));
}

}  // namespace
}  // namespace gp
