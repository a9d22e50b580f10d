#include "tokenizer/text_pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "lib/tokenizer/small_tokenizer.h"

namespace gp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr char kGpt2sRegex[] =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

Json Split(const std::string& regex, const std::string& behavior = "Isolated",
           bool invert = false) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", regex}}},
          {"behavior", behavior},
          {"invert", invert}};
}

Json SplitThenBytes(const Json& split, bool use_regex = false, bool prefix = false) {
  const Json bytes = {
      {"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"use_regex", use_regex}};
  return {{"type", "Sequence"}, {"pretokenizers", std::vector<Json>{split, bytes}}};
}

// The error for a tokenizer.json in which this key has another value.
std::string ErrorWith(const char* key, const Json& value) {
  Json document = SmallTokenizerJson();
  document[key] = value;
  return Message(CheckTextPipeline(document));
}

Json Text(const char* id) { return {{"Sequence", {{"id", id}, {"type_id", 0}}}}; }
Json Token() { return {{"SpecialToken", {{"id", "<|endoftext|>"}, {"type_id", 0}}}}; }

using List = std::initializer_list<Json>;

Json Template(List single) {
  return {{"type", "TemplateProcessing"}, {"single", std::vector<Json>(single)}};
}
Json Template(List single, List pair) {
  Json both = Template(single);
  both["pair"] = std::vector<Json>(pair);
  return both;
}

Json Sequence(const char* key, List steps) {
  return {{"type", "Sequence"}, {key, std::vector<Json>(steps)}};
}

TEST(TextPipeline, Gpt2sExpressionMayStandInASplit) {
  const char* kSpellings[] = {
      kGpt2sRegex, R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
      R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)"};
  for (const char* regex : kSpellings) {
    for (const Json& split :
         {Split(regex), Split(regex, "Isolated", true), Split(regex, "Removed", true)}) {
      EXPECT_EQ(ErrorWith("pre_tokenizer", SplitThenBytes(split)), "") << split;
      EXPECT_EQ(ErrorWith("pre_tokenizer", SplitThenBytes(split, true)), "") << split;
    }
  }
}

TEST(TextPipeline, AnotherCutIsRefused) {
  const auto refused = AllOf(HasSubstr("pre_tokenizer is"), HasSubstr("only as GPT-2 does"),
                             HasSubstr("gpctl data train-tokenizer"));
  const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};
  const Json digits = {{"type", "Digits"}, {"individual_digits", true}};
  const std::vector<Json> others = {
      nullptr,
      7,
      {{"type", "Whitespace"}},
      Split(kGpt2sRegex),
      SplitThenBytes(Split(R"(\p{N}{1,3}|\p{L}+)")),
      SplitThenBytes(digits),
      SplitThenBytes(Split(kGpt2sRegex, "Removed")),
      SplitThenBytes(Split(kGpt2sRegex, "Contiguous")),
      SplitThenBytes({{"type", "Split"}, {"pattern", {{"String", kGpt2sRegex}}}}),
      Sequence("pretokenizers", {bytes, bytes}),
      Sequence("pretokenizers", {Split(kGpt2sRegex), digits, bytes}),
      Sequence("pretokenizers", {}),
      {{"type", "Sequence"}, {"pretokenizers", 7}},
  };
  for (const Json& step : others) {
    EXPECT_THAT(ErrorWith("pre_tokenizer", step), refused) << step;
  }
  EXPECT_THAT(ErrorWith("pre_tokenizer",
                        {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}),
              HasSubstr("pre_tokenizer.use_regex is false"));
}

TEST(TextPipeline, ASpaceBeforeTheTextIsRefused) {
  const auto refused =
      AllOf(HasSubstr("pre_tokenizer.add_prefix_space is true"), HasSubstr("set it to false"));
  EXPECT_THAT(ErrorWith("pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", true}}),
              refused);
  EXPECT_THAT(ErrorWith("pre_tokenizer", SplitThenBytes(Split(kGpt2sRegex), false, true)), refused);
}

TEST(TextPipeline, ATemplateMayAddNothing) {
  const Json a = Text("A"), b = Text("B"), token = Token();
  const Json empty = Template({a}, {a, b});
  EXPECT_EQ(ErrorWith("post_processor", empty), "");
  EXPECT_EQ(ErrorWith("post_processor", Template({a})), "");
  EXPECT_EQ(ErrorWith("post_processor", Sequence("processors", {{{"type", "ByteLevel"}}, empty})),
            "");
  const std::vector<Json> others = {
      Template({token, a}, {a, b}),
      Template({a, token}),
      Template({a, a}),
      Template({b}),
      Template({}),
      Template({7}),
      Template({a}, {a, token, b}),
      Sequence("processors", {empty, Template({token, a})}),
      {{"type", "TemplateProcessing"}, {"single", "A"}},
      {{"type", "TemplateProcessing"}},
      {{"type", "RobertaProcessing"}},
      7,
  };
  for (const Json& other : others) {
    EXPECT_THAT(ErrorWith("post_processor", other),
                AllOf(HasSubstr("post_processor"), HasSubstr("set post_processor to null")))
        << other;
  }
  EXPECT_THAT(ErrorWith("post_processor", others[0]),
              HasSubstr(R"(post_processor.single is [{"SpecialToken":{"id":"<|endoftext|>")"));
  EXPECT_THAT(ErrorWith("post_processor", Template({a}, {a, b, token})),
              HasSubstr("post_processor.pair is"));
}

TEST(TextPipeline, ANormalizerIsRefused) {
  const auto refused =
      AllOf(HasSubstr("normalizer is"), HasSubstr("null, and normalize texts beforehand"));
  EXPECT_THAT(ErrorWith("normalizer", {{"type", "NFC"}}), refused);
  EXPECT_THAT(ErrorWith("normalizer", Sequence("normalizers", {{{"type", "Strip"}}})), refused);
}

TEST(TextPipeline, OnlyADecoderOfOtherTextIsRefused) {
  EXPECT_EQ(ErrorWith("decoder", nullptr), "");
  EXPECT_EQ(ErrorWith("decoder", {{"type", "ByteLevel"}, {"trim_offsets", false}}), "");
  EXPECT_EQ(ErrorWith("decoder", Sequence("decoders", {{{"type", "ByteLevel"}}})), "");
  EXPECT_THAT(ErrorWith("decoder", {{"type", "WordPiece"}}),
              AllOf(HasSubstr("decoder is"), HasSubstr("gp decodes as ByteLevel does")));
}

}  // namespace
}  // namespace gp
