#include "tokenizer/special_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "lib/tokenizer/small_tokenizer.h"
#include "tokenizer/byte_tokenizer.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/tokenizer.h"

namespace gp {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

const SpecialTokens kOther{.bos = 3,
                           .eos = 5,
                           .pad = 7,
                           .unk = 9,
                           .model_bos = 4,
                           .model_eos = {5, 6},
                           .model_pad = 8,
                           .split_in_text = true};

std::unique_ptr<Tokenizer> SmallBytePair() { return *ParseTokenizer(SmallTokenizerJson().dump()); }

TEST(SpecialTokens, TheSpellingTellsWhichEndsAText) {
  const std::vector<std::string> tokens = {"a", "[PAD]", "</s>", "[EOS]", "<|endoftext|>"};
  const auto eos = [&](std::vector<int32_t> special) {
    return SpecialTokensBySpelling(tokens, special).eos;
  };
  EXPECT_EQ(eos({1, 2, 3, 4}), 4);
  EXPECT_EQ(eos({1, 2, 3}), 2);
  EXPECT_EQ(eos({1, 3}), 3);
  EXPECT_EQ(SpecialTokensBySpelling(tokens, std::vector<int32_t>{1}), SpecialTokens());
  EXPECT_EQ(SpecialTokensBySpelling(tokens, std::vector<int32_t>{3}),
            (SpecialTokens{.bos = 3, .eos = 3, .model_bos = 3, .model_eos = {3}}));
}

TEST(SpecialTokens, TokenizersOfEveryKindKeepThem) {
  std::vector<std::unique_ptr<Tokenizer>> tokenizers;
  tokenizers.push_back(SmallBytePair());
  tokenizers.push_back(std::make_unique<ByteTokenizer>());
  tokenizers.push_back(*CharTokenizer::FromText("0123456789"));
  for (const auto& tokenizer : tokenizers) {
    const std::string before = tokenizer->Serialized(), fingerprint = tokenizer->Fingerprint();
    EXPECT_THAT(before, testing::Not(HasSubstr("special_tokens")));
    tokenizer->set_special_tokens(kOther);
    const auto back = ParseTokenizer(tokenizer->Serialized());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ((*back)->special_tokens(), kOther) << tokenizer->kind();
    EXPECT_EQ((*back)->Serialized(), tokenizer->Serialized());
    // Special tokens do not change the ids of any text, so the fingerprint stays the same.
    EXPECT_EQ((*back)->Fingerprint(), fingerprint);
    EXPECT_EQ((*ParseTokenizer(before))->Fingerprint(), fingerprint);
  }
}

// Files of older versions did not store special tokens.
TEST(SpecialTokens, WithoutThemTheSpellingCounts) {
  const auto tokenizer = SmallBytePair();
  EXPECT_EQ(
      tokenizer->special_tokens(),
      (SpecialTokens{.bos = 261, .eos = 261, .unk = 261, .model_bos = 261, .model_eos = {261}}));
  EXPECT_EQ(tokenizer->end_of_text(), 261);
}

TEST(SpecialTokens, DamageIsNamed) {
  const auto error = [](const char* text) {
    return Message(ReadSpecialTokens(Json::parse(text), 10).status());
  };
  EXPECT_THAT(error("[]"), HasSubstr("special_tokens is not an object"));
  EXPECT_THAT(error("{}"), HasSubstr("special_tokens.model_eos is not a list"));
  EXPECT_THAT(error(R"({"bos":10,"model_eos":[]})"),
              HasSubstr("special_tokens.bos is 10, expected an id below 10"));
  EXPECT_THAT(error(R"({"model_eos":[-1]})"), HasSubstr("special_tokens.model_eos is -1"));
  EXPECT_THAT(error(R"({"eos":"x","model_eos":[]})"), HasSubstr("special_tokens.eos is \"x\""));
}

}  // namespace
}  // namespace gp
