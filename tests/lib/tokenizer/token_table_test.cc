#include "tokenizer/token_table.h"

#include <gtest/gtest.h>

#include <string>

namespace gp {
namespace {

// Tokens of lengths around the limit above which the table stores them elsewhere.
std::string TokenOf(int32_t id) { return std::to_string(id) + std::string(id % 40, 'x'); }

TEST(TokenTable, FindsShortAndLongTokens) {
  TokenTable table;
  for (int32_t id = 0; id < 5000; ++id) ASSERT_TRUE(table.Add(TokenOf(id), id));
  for (int32_t id = 0; id < 5000; ++id) EXPECT_EQ(table.Find(TokenOf(id)), id);
  EXPECT_EQ(table.Find("5000"), TokenTable::kNone);
  EXPECT_EQ(table.Find(std::string(100, 'y')), TokenTable::kNone);
}

TEST(TokenTable, ATokenIsAddedOnce) {
  TokenTable table;
  for (const std::string& token : {std::string("ab"), std::string(100, 'a')}) {
    EXPECT_TRUE(table.Add(token, 1));
    EXPECT_FALSE(table.Add(token, 2));
    EXPECT_EQ(table.Find(token), 1);
  }
}

TEST(TokenTable, ZeroBytesCount) {
  TokenTable table;
  using namespace std::string_view_literals;
  EXPECT_TRUE(table.Add("a"sv, 1));
  EXPECT_TRUE(table.Add("a\0"sv, 2));
  EXPECT_EQ(table.Find("a\0"sv), 2);
  EXPECT_EQ(table.Find("a"sv), 1);
}

}  // namespace
}  // namespace gp
