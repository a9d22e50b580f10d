#include "tokenizer/token_bytes.h"

#include <gtest/gtest.h>

#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/byte_tokenizer.h"
#include "tokenizer/char_tokenizer.h"

namespace gp {
namespace {

TEST(TokenBytes, OfATextAreItsBytes) {
  const std::string text = "na\u00efve caf\u00e9 \u20ac\U0001f600";
  const ByteTokenizer bytes;
  EXPECT_EQ(TokenBytes(bytes).Sum(*bytes.Encode(text)), std::ssize(text));
  const auto chars = CharTokenizer::FromText(text);
  ASSERT_TRUE(chars.ok());
  EXPECT_EQ(TokenBytes(**chars).Sum(*(*chars)->Encode(text)), std::ssize(text));
}

TEST(TokenBytes, TheEndOfATextStandsForNone) {
  const auto gpt2 = BytePairTokenizer::InstalledGpt2();
  if (!gpt2.ok()) GTEST_SKIP() << gpt2.status();
  const std::string text = "Caf\u00e9 \U0001f600 of 2026";
  auto tokens = (*gpt2)->Encode(text).value();
  tokens.push_back(*(*gpt2)->end_of_text());
  EXPECT_EQ(TokenBytes(**gpt2).Sum(tokens), std::ssize(text));
}

TEST(TokenBytes, WhatStandsForNoTextAddsNothing) {
  const TokenBytes bytes{ByteTokenizer()};
  EXPECT_EQ(bytes.Sum(std::vector<int32_t>{-1, 65, -1}), 1);
  EXPECT_EQ(bytes.Sum(std::vector<int32_t>{65, 256}), std::nullopt) << "no id of the tokenizer";
}

}  // namespace
}  // namespace gp
