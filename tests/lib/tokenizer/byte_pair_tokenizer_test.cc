#include "tokenizer/byte_pair_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp {
namespace {

using ::testing::ElementsAre;

constexpr char kTinyMerges[] = "#version: 0.2\nh e\nl l\nhe ll\nĠ w\nhell o\n";

TEST(BytePairTokenizer, JoinsByTheOrderOfItsMerges) {
  const auto tokenizer = BytePairTokenizer::FromMerges(kTinyMerges);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ((*tokenizer)->vocabulary_size(), 256 + 5 + 1);
  EXPECT_EQ((*tokenizer)->end_of_text(), 261);
  // Single bytes are numbered from '!', the first printable one; 259 is " w", and 260 is "hello".
  EXPECT_THAT(*(*tokenizer)->Encode("hello w!"), ElementsAre(260, 259, 0));
  EXPECT_THAT(*(*tokenizer)->Encode("hel"), ElementsAre(256, 'l' - '!'));
  EXPECT_EQ((*tokenizer)->Decode(std::vector<int32_t>{260, 261, 999}),
            "hello<|endoftext|>\xef\xbf\xbd");
}

TEST(BytePairTokenizer, EveryByteComesBack) {
  const auto tokenizer = BytePairTokenizer::FromMerges(kTinyMerges);
  std::string text;
  for (int i = 0; i < 512; ++i) text.push_back(static_cast<char>(i * 7));
  EXPECT_EQ((*tokenizer)->Decode(*(*tokenizer)->Encode(text)), text);
}

TEST(BytePairTokenizer, SerializedFormComesBackEqual) {
  const auto tokenizer = BytePairTokenizer::FromMerges(kTinyMerges);
  const auto back = ParseTokenizer((*tokenizer)->Serialized());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ((*back)->kind(), "bpe");
  EXPECT_EQ((*back)->end_of_text(), (*tokenizer)->end_of_text());
  EXPECT_EQ((*back)->Fingerprint(), (*tokenizer)->Fingerprint());
  EXPECT_EQ(*(*back)->Encode("hello well"), *(*tokenizer)->Encode("hello well"));
}

TEST(BytePairTokenizer, LineBreaksOfWindowsMeanTheSame) {
  const auto tokenizer = BytePairTokenizer::FromMerges("#version: 0.2\r\nh e\r\nl l\r\n");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ((*tokenizer)->Fingerprint(),
            (*BytePairTokenizer::FromMerges("h e\nl l"))->Fingerprint());
}

// A million letters in one piece must not take quadratic time.
TEST(BytePairTokenizer, EncodesALongPieceInReasonableTime) {
  const auto tokenizer = BytePairTokenizer::FromMerges("a a\naa aa\naaaa aaaa\n");
  EXPECT_EQ((*tokenizer)->Encode(std::string(1'000'000, 'a'))->size(), 125'000u);
}

// Checkpoints have used this form since the first version.
TEST(BytePairTokenizer, Gpt2sSerializedFormIsItsKindAndItsMerges) {
  const auto tokenizer = BytePairTokenizer::InstalledGpt2();
  if (!tokenizer.ok()) GTEST_SKIP() << tokenizer.status();
  EXPECT_EQ((*tokenizer)->kind(), "gpt2");
  EXPECT_EQ((*tokenizer)->Fingerprint(),
            "3a85d2ca4c92d34f0cbb2a0c61693eb02bf4a0f3c49d0557748999e1865c5425");
  const auto back = ParseTokenizer((*tokenizer)->Serialized());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ((*back)->kind(), "gpt2");
  EXPECT_EQ((*back)->Serialized(), (*tokenizer)->Serialized());
}

// Test vectors from tiktoken 0.14 with the same vocabulary.
TEST(BytePairTokenizer, EqualsTiktokenWithGpt2sVocabulary) {
  const auto tokenizer = BytePairTokenizer::InstalledGpt2();
  if (!tokenizer.ok()) GTEST_SKIP() << tokenizer.status();
  EXPECT_EQ((*tokenizer)->vocabulary_size(), 50257);
  const auto encode = [&](std::string_view text) { return *(*tokenizer)->Encode(text); };
  EXPECT_THAT(encode("Hello, I'm a language model,"),
              ElementsAre(15496, 11, 314, 1101, 257, 3303, 2746, 11));
  EXPECT_THAT(encode("  two  spaces\n\n\tand tabs "),
              ElementsAre(220, 734, 220, 9029, 628, 197, 392, 22524, 220));
  EXPECT_THAT(encode("naïve café — 中文 😀 ١٢ ²"),
              ElementsAre(2616, 38776, 40304, 851, 220, 40792, 23877, 229, 30325, 222, 18923, 94,
                          149, 95, 1587, 110));
  EXPECT_THAT(encode("it's we'll THEY'VE 'twas"),
              ElementsAre(270, 338, 356, 1183, 33302, 6, 6089, 705, 4246, 292));
  EXPECT_THAT(encode("<|endoftext|>"), ElementsAre(27, 91, 437, 1659, 5239, 91, 29));
  EXPECT_THAT(encode("a\u00a0b\u3000c\u180e"
                     "d"),
              ElementsAre(64, 1849, 65, 5099, 222, 66, 157, 254, 236, 67));
}

}  // namespace
}  // namespace gp
