#include "interop/hugging_face_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/interop/small_model.h"

namespace gp::interop {
namespace {

using ::testing::HasSubstr;

std::string ConfigText(const std::string& key = "", const nlohmann::json& value = nullptr) {
  nlohmann::json config = {{"model_type", "gpt2"}, {"n_layer", 2},      {"n_head", 3},
                           {"n_embd", 12},         {"n_positions", 10}, {"vocab_size", 259}};
  if (value.is_discarded()) {
    config.erase(key);
  } else if (!key.empty()) {
    config[key] = value;
  }
  return config.dump();
}

TEST(HuggingFaceConfig, ReadsBackWhatItWrote) {
  for (const auto gelu : {runspec::Gelu::kErf, runspec::Gelu::kTanh}) {
    runspec::ModelShape shape = SmallShape();
    shape.gelu = gelu;
    shape.tied_head = gelu == runspec::Gelu::kErf;
    shape.dropout = 0.25;
    const auto read =
        ParseHuggingFaceConfig(FormatHuggingFaceConfig(shape, FloatType::kF32, {}), "config.json");
    ASSERT_TRUE(read.ok()) << read.status();
    shape.vocabulary_padded = shape.vocabulary;
    EXPECT_EQ(*read, shape);
  }
}

TEST(HuggingFaceConfig, WhatIsAbsentIsAsInTransformers) {
  const auto shape = ParseHuggingFaceConfig(ConfigText(), "config.json");
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->gelu, runspec::Gelu::kTanh);
  EXPECT_EQ(shape->dropout, 0.1);
  EXPECT_TRUE(shape->tied_head);
  EXPECT_TRUE(shape->bias);
}

TEST(HuggingFaceConfig, WhatGpDoesNotComputeIsRefusedByItsKey) {
  const auto error = [](const std::string& key, const nlohmann::json& value) {
    const auto shape = ParseHuggingFaceConfig(ConfigText(key, value), "config.json");
    EXPECT_FALSE(shape.ok()) << key << " " << value;
    const std::string message = Message(shape.status());
    EXPECT_THAT(message, HasSubstr("config.json"));
    EXPECT_THAT(message, HasSubstr(key));
    return message;
  };
  EXPECT_THAT(error("model_type", "llama"), HasSubstr("expected gpt2"));
  EXPECT_THAT(error("activation_function", "relu"), HasSubstr("expected gelu_new"));
  EXPECT_THAT(error("layer_norm_epsilon", 1e-6), HasSubstr("only 1e-05"));
  EXPECT_THAT(error("n_inner", 47), HasSubstr("4 n_embd = 48"));
  error("scale_attn_weights", false);
  error("scale_attn_by_inverse_layer_idx", true);
  error("add_cross_attention", true);
  error("n_layer", 0);
  error("n_layer", 1e300);
  error("n_layer", -1);
  error("n_layer", uint64_t{1} << 62);
  error("n_head", 5);
  error("vocab_size", "many");
  error("tie_word_embeddings", "yes");
  error("resid_pdrop", 1.5);
  EXPECT_THAT(error("n_embd", nullptr), HasSubstr("is missing"));
}

TEST(HuggingFaceConfig, ATextThatIsNoConfigIsNamed) {
  for (const char* text :
       {"", "{", "[]", "7", "{\"n_layer\": 2, \"n_layer\": 2}", "\xff\xfe", "\xef\xbb\xbf{}"}) {
    const auto shape = ParseHuggingFaceConfig(text, "config.json");
    EXPECT_THAT(Message(shape.status()), HasSubstr("config.json")) << text;
  }
}

TEST(HuggingFaceConfig, AConfigInAnotherEncodingIsNamedWithTheCommand) {
  std::string wide;
  for (const char c : ConfigText()) wide += {c, '\0'};
  for (const std::string& text : {wide, "\xff\xfe" + wide}) {
    EXPECT_THAT(Message(ParseHuggingFaceConfig(text, "/d/config.json").status()),
                ::testing::ContainsRegex("^/d/config.json is text in UTF-16.*iconv -f UTF-16.* -t "
                                         "UTF-8 /d/config.json$"));
  }
}

}  // namespace
}  // namespace gp::interop
