// Goal: keys with any byte are written as S3 signs them, and come back from lists as they were.
#include "storage/object/percent.h"

#include <gtest/gtest.h>

namespace gp::object {
namespace {

TEST(Percent, KeepsOnlyPlainBytes) {
  EXPECT_EQ(EncodePart("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(EncodePart("a b+c/d=e*\xc3\xa9"), "a%20b%2Bc%2Fd%3De%2A%C3%A9");
  EXPECT_EQ(EncodePath("/a b/c$d"), "/a%20b/c%24d");
}

TEST(Percent, DecodesEveryByte) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(Decode(EncodePart(all)).value(), all);
  EXPECT_EQ(Decode("a+b").value(), "a+b");
}

TEST(Percent, RefusesHalfAnEscape) {
  for (const char* text : {"%", "a%4", "%zz", "%4g"}) {
    EXPECT_EQ(Decode(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace gp::object
