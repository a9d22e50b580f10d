#include "tokenizer/byte_tokenizer.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

TEST(ByteTokenizer, EveryByteComesBack) {
  std::string text;
  for (int i = 0; i < 256; ++i) text.push_back(static_cast<char>(i));
  const ByteTokenizer tokenizer;
  const auto tokens = *tokenizer.Encode(text);
  EXPECT_EQ(tokens[200], 200);
  EXPECT_EQ(tokenizer.Decode(tokens), text);
  EXPECT_EQ(tokenizer.Decode(std::vector<int32_t>{65, 256, -1}), "A\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(ByteTokenizer, AnyPlaceIsOneToCut) { EXPECT_EQ(ByteTokenizer().CutAfter("a\u20ac", 2), 2u); }

}  // namespace
}  // namespace gp
