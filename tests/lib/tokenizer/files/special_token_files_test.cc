// hugging_face_test.py tests how transformers reads the same files.
#include "tokenizer/files/special_token_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "lib/base/temporary_directory.h"
#include "lib/tokenizer/small_tokenizer.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/files/hugging_face_tokenizer.h"
#include "tokenizer/files/tokenizer_file.h"

namespace gp {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

// A directory with the small tokenizer and three more special tokens: <|BOS|> (262), <|EOS|> (263)
// and <|PAD|> (264).
class SpecialTokenFiles : public testing::Test {
 protected:
  std::unique_ptr<Tokenizer> Read(const std::map<std::string, Json>& files) {
    auto tokenizer = TryRead(files);
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
    return tokenizer.ok() ? *std::move(tokenizer) : nullptr;
  }

  StatusOr<std::unique_ptr<Tokenizer>> TryRead(std::map<std::string, Json> files) {
    Json document = SmallTokenizerJson();
    for (const auto& [id, text] : {std::pair(262, "<|BOS|>"), {263, "<|EOS|>"}, {264, "<|PAD|>"}}) {
      document["added_tokens"].push_back({{"id", id}, {"content", text}, {"special", true}});
    }
    files.emplace("tokenizer.json", document);
    const std::string path = directory_.File(std::to_string(++count_));
    EXPECT_TRUE(MakeDirectories(path).ok());
    for (const auto& [name, json] : files) {
      EXPECT_TRUE(WriteFileAtomically(JoinPath(path, name), json.dump()).ok());
    }
    notes_.clear();
    return ReadTokenizer(path, &notes_);
  }

  TemporaryDirectory directory_;
  int count_ = 0;
  std::vector<std::string> notes_;
};

// Case models-and-data/04: the end token named in the model's files was ignored.
TEST_F(SpecialTokenFiles, TheTokenizersNamesAndTheModelsIdsAreRead) {
  const Json names = {{"bos_token", "<|BOS|>"},
                      {"eos_token", {{"content", "<|EOS|>"}}},
                      {"pad_token", "<|PAD|>"},
                      {"unk_token", "<|endoftext|>"}};
  const SpecialTokens expected{.bos = 262,
                               .eos = 263,
                               .pad = 264,
                               .unk = 261,
                               .model_bos = 262,
                               .model_eos = {263},
                               .model_pad = 264};
  EXPECT_EQ(Read({{"tokenizer_config.json", names}})->special_tokens(), expected);
  EXPECT_EQ(Read({{"special_tokens_map.json", names}})->special_tokens(), expected);
  const Json ids = {{"bos_token_id", 262}, {"eos_token_id", 263}, {"pad_token_id", 264}};
  EXPECT_EQ(Read({{"tokenizer_config.json", names}, {"config.json", ids}})->special_tokens(),
            expected);
  EXPECT_THAT(notes_, IsEmpty());
  // special_tokens_map.json takes precedence over tokenizer_config.json.
  EXPECT_EQ(Read({{"tokenizer_config.json", {{"eos_token", "<|BOS|>"}}},
                  {"special_tokens_map.json", {{"eos_token", "<|EOS|>"}}}})
                ->end_of_text(),
            263);
}

TEST_F(SpecialTokenFiles, WithoutNamesTheModelsEndSeparatesDocuments) {
  for (const char* name : {"config.json", "generation_config.json"}) {
    const auto tokenizer = Read({{name, {{"eos_token_id", 263}}}});
    EXPECT_EQ(tokenizer->end_of_text(), 263);
    EXPECT_THAT(tokenizer->special_tokens().model_eos, ElementsAre(263));
  }
  // An ordinary token can be the model's end, but it cannot separate documents, because they may
  // contain it.
  const auto tokenizer = Read({{"config.json", {{"eos_token_id", 260}}}});
  EXPECT_EQ(tokenizer->end_of_text(), 261);
  EXPECT_THAT(tokenizer->special_tokens().model_eos, ElementsAre(260));
}

TEST_F(SpecialTokenFiles, ATextMayEndAtSeveralTokens) {
  const auto tokenizer = Read({{"tokenizer_config.json", {{"eos_token", "<|EOS|>"}}},
                               {"generation_config.json", {{"eos_token_id", {261, 263}}}}});
  EXPECT_EQ(tokenizer->end_of_text(), 263);
  EXPECT_THAT(tokenizer->special_tokens().model_eos, ElementsAre(261, 263));
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(SpecialTokenFiles, NullMeansThatThereIsNone) {
  const auto tokenizer =
      Read({{"tokenizer_config.json",
             {{"bos_token", nullptr}, {"eos_token", "<|EOS|>"}, {"unk_token", ""}}}});
  EXPECT_EQ(tokenizer->special_tokens(), (SpecialTokens{.eos = 263, .model_eos = {263}}));
}

// <|endoftext|> is recognised by its spelling only: it separates documents, but generated texts do
// not end at it.
TEST_F(SpecialTokenFiles, AModelWithoutAnEndHasNone) {
  const std::map<std::string, Json> no_end[] = {
      {{"config.json", {{"eos_token_id", nullptr}}}},
      {{"config.json", {{"eos_token_id", Json::array()}}}},
      {{"generation_config.json", {{"eos_token_id", nullptr}}}},
      {{"config.json", {{"eos_token_id", 263}}},
       {"generation_config.json", {{"eos_token_id", nullptr}}}},
      // The default of this model type, 50256, is not in the vocabulary.
      {{"config.json", {{"model_type", "gpt2"}}}},
      {{"config.json", {{"eos_token_id", 50256}}}}};
  for (const auto& files : no_end) {
    const auto tokenizer = Read(files);
    const SpecialTokens expected{.eos = 261, .eos_is_guess = true};
    EXPECT_EQ(tokenizer->special_tokens(), expected) << Json(files);
    EXPECT_THAT(notes_, Contains(HasSubstr("'<|endoftext|>' (261) is recognised only by its "
                                           "spelling: generated texts do not end at it")));
    EXPECT_EQ(tokenizer->NamedEndOfText(), "");
    EXPECT_EQ((*ParseTokenizer(tokenizer->Serialized()))->special_tokens(), expected);
    std::map<std::string, Json> written = files;
    for (const auto& [name, text] : HuggingFaceTokenizerFiles(*tokenizer)) {
      if (name.ends_with(".json")) written.emplace(name, Json::parse(text));
    }
    EXPECT_EQ(written["tokenizer_config.json"]["tokenizer_class"], "PreTrainedTokenizerFast");
    EXPECT_FALSE(written["tokenizer_config.json"].contains("eos_token"));
    EXPECT_EQ(Read(written)->special_tokens(), expected);
  }
  EXPECT_EQ(Read({{"config.json", {{"eos_token_id", nullptr}}}})->special_tokens().model_bos,
            std::nullopt);
}

TEST_F(SpecialTokenFiles, TheModelsNullRulesOverTheTokenizersName) {
  const Json names = {{"bos_token", "<|BOS|>"}, {"eos_token", "<|EOS|>"}, {"pad_token", "<|PAD|>"}};
  const Json ids = {
      {"bos_token_id", nullptr}, {"eos_token_id", nullptr}, {"pad_token_id", nullptr}};
  for (const char* file : {"config.json", "generation_config.json"}) {
    EXPECT_EQ(Read({{"tokenizer_config.json", names}, {file, ids}})->special_tokens(),
              (SpecialTokens{.bos = 262, .eos = 263, .pad = 264, .unk = 261}));
    EXPECT_THAT(notes_, ElementsAre(HasSubstr("the model's eos_token_id is null, the tokenizer's "
                                              "eos_token '<|EOS|>' (263): generated texts do not "
                                              "end at it")));
  }
  // If no file of the model has the key, the tokenizer's name decides.
  EXPECT_EQ(Read({{"tokenizer_config.json", names}, {"config.json", {{"model_type", "gpt2"}}}})
                ->special_tokens(),
            (SpecialTokens{.bos = 262,
                           .eos = 263,
                           .pad = 264,
                           .unk = 261,
                           .model_bos = 262,
                           .model_eos = {263},
                           .model_pad = 264}));
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(SpecialTokenFiles, WithoutAModelTheSpellingTellsWhereTextsEnd) {
  EXPECT_THAT(Read({})->special_tokens().model_eos, ElementsAre(261));
  EXPECT_THAT(notes_, IsEmpty());
}

// If the key is missing, transformers uses 50256.
TEST_F(SpecialTokenFiles, TheDefaultOfTheClassIsTakenOnlyForGpt2sEndOfText) {
  const auto gpt2 = BytePairTokenizer::InstalledGpt2();
  if (!gpt2.ok()) GTEST_SKIP() << gpt2.status();
  const CompanionFiles missing{.model_config = {"config.json", {{"model_type", "gpt2"}}}};
  ASSERT_TRUE(ApplySpecialTokens(missing, **gpt2).ok());
  EXPECT_THAT((*gpt2)->special_tokens().model_eos, ElementsAre(50256));
  EXPECT_EQ((*gpt2)->special_tokens().model_bos, 50256);
  const CompanionFiles null{.model_config = {"config.json", {{"eos_token_id", nullptr}}}};
  ASSERT_TRUE(ApplySpecialTokens(null, **gpt2).ok());
  EXPECT_THAT((*gpt2)->special_tokens().model_eos, IsEmpty());
  EXPECT_EQ((*gpt2)->special_tokens().model_bos, 50256);
  EXPECT_EQ((*gpt2)->end_of_text(), 50256);
}

TEST_F(SpecialTokenFiles, ContradictionsAreSaid) {
  const auto tokenizer = Read({{"tokenizer_config.json", {{"eos_token", "<|endoftext|>"}}},
                               {"config.json", {{"eos_token_id", 261}}},
                               {"generation_config.json", {{"eos_token_id", 263}}}});
  EXPECT_EQ(tokenizer->end_of_text(), 261);
  EXPECT_THAT(tokenizer->special_tokens().model_eos, ElementsAre(263));
  EXPECT_THAT(notes_,
              ElementsAre(HasSubstr("eos_token_id is 261 in config.json and 263 in "
                                    "generation_config.json, which takes precedence"),
                          AllOf(HasSubstr("the model's eos_token_id is '<|EOS|>' (263), the "
                                          "tokenizer's eos_token '<|endoftext|>' (261)"),
                                HasSubstr("the latter separates documents"))));
  Read({{"tokenizer_config.json", {{"eos_token", "<|EOS|>"}, {"pad_token", "<|PAD|>"}}},
        {"config.json", {{"eos_token_id", 50256}, {"pad_token_id", 261}}}});
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("config.json: eos_token_id names the id 50256, but the "
                                            "tokenizer has 265 ids: gp ignores it"),
                                  HasSubstr("pad_token_id is '<|endoftext|>' (261), the "
                                            "tokenizer's pad_token '<|PAD|>' (264)")));
}

TEST_F(SpecialTokenFiles, DamageNamesFileAndKey) {
  const auto error = [this](const Json& value) {
    return Message(TryRead({{"config.json", {{"eos_token_id", value}}}}).status());
  };
  EXPECT_THAT(error("x"), AllOf(HasSubstr("/config.json: eos_token_id is \"x\""),
                                HasSubstr("expected an id or a list of ids")));
  EXPECT_THAT(error({5, 1.5}), HasSubstr("eos_token_id is [5,1.5]"));
  EXPECT_THAT(Message(TryRead({{"generation_config.json", Json::array()}}).status()),
              HasSubstr("generation_config.json"));
}

TEST_F(SpecialTokenFiles, TheFilesThatAreWrittenSayTheSame) {
  const auto tokenizer = Read({{"tokenizer_config.json",
                                {{"bos_token", nullptr},
                                 {"eos_token", "<|EOS|>"},
                                 {"pad_token", "<|PAD|>"},
                                 {"unk_token", "<|endoftext|>"}}}});
  std::map<std::string, Json> files;
  for (const auto& [name, text] : HuggingFaceTokenizerFiles(*tokenizer)) {
    if (name.ends_with(".json")) files.emplace(name, Json::parse(text));
  }
  EXPECT_EQ(
      files["special_tokens_map.json"],
      Json({{"eos_token", "<|EOS|>"}, {"pad_token", "<|PAD|>"}, {"unk_token", "<|endoftext|>"}}));
  EXPECT_EQ(files["tokenizer_config.json"]["bos_token"], nullptr);
  EXPECT_FALSE(files["tokenizer.json"]["model"].contains("special_tokens"));
  EXPECT_EQ(Read(files)->special_tokens(), tokenizer->special_tokens());
}

// Without the setting, transformers would find special tokens in text that it split before.
TEST_F(SpecialTokenFiles, WhetherTheyAreSplitInTextIsKept) {
  for (const bool split : {false, true}) {
    const auto tokenizer = Read({{"tokenizer_config.json", {{"split_special_tokens", split}}}});
    EXPECT_EQ(tokenizer->special_tokens().split_in_text, split);
    const Json config =
        Json::parse(HuggingFaceTokenizerFiles(*tokenizer).at("tokenizer_config.json"));
    EXPECT_EQ(config.contains("split_special_tokens"), split);
    EXPECT_EQ(Read({{"tokenizer_config.json", config}})->special_tokens(),
              tokenizer->special_tokens());
  }
}

}  // namespace
}  // namespace gp
