#include "tokenizer/files/companion_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/file.h"
#include "lib/base/temporary_directory.h"
#include "lib/tokenizer/small_tokenizer.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/files/hugging_face_tokenizer.h"
#include "tokenizer/files/tokenizer_file.h"

namespace gp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using Files = std::map<std::string, Json>;

// Two more tokens; the first one looks like a special token, the second does not.
const Json kAddedIds = {{"<pad>", 262}, {"END", 263}};

Json Added(int64_t id, const char* text, bool special = true) {
  return {{"id", id}, {"content", text}, {"special", special}};
}

class CompanionFilesTest : public testing::Test {
 protected:
  // A directory with these files, plus merges.txt if there is a vocab.json.
  std::string Directory(const Files& files) {
    const std::string path = directory_.File(std::to_string(++count_));
    EXPECT_TRUE(MakeDirectories(path).ok());
    for (const auto& [name, json] : files) Write(JoinPath(path, name), json.dump());
    if (files.contains("vocab.json")) Write(JoinPath(path, "merges.txt"), kSmallMerges);
    return path;
  }

  // A directory with these files and the small vocabulary as vocab.json.
  std::string Pair(Files companions) {
    companions.emplace("vocab.json", SmallVocab());
    return Directory(companions);
  }
  std::string Whole(Files companions) {
    companions.emplace("tokenizer.json", SmallTokenizerJson());
    return Directory(companions);
  }

  std::shared_ptr<const BytePairTokenizer> Read(const std::string& path) {
    auto tokenizer = ReadTokenizer(path);
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
    if (!tokenizer.ok()) return nullptr;
    return std::dynamic_pointer_cast<const BytePairTokenizer>(
        std::shared_ptr<const Tokenizer>(*std::move(tokenizer)));
  }

  std::string Error(const std::string& path) { return Message(ReadTokenizer(path).status()); }

  static void Write(const std::string& path, const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  }

  TemporaryDirectory directory_;
  int count_ = 0;
};

// Case models-and-data/05: the tokens of added_tokens.json were silently ignored.
TEST_F(CompanionFilesTest, EveryListOfAddedTokensGivesTheSameTokenizer) {
  Json whole = SmallTokenizerJson();
  whole["added_tokens"].push_back(Added(262, "<pad>"));
  whole["added_tokens"].push_back(Added(263, "END"));
  const auto expected = Read(Directory({{"tokenizer.json", whole}}));
  ASSERT_EQ(expected->vocabulary_size(), 264);
  Json vocab = SmallVocab();
  vocab.update(kAddedIds);
  const Json names = {{"pad_token", "<pad>"}, {"eos_token", {{"content", "END"}}}};
  const Json lists = {{"additional_special_tokens", {"<pad>", "END"}}};
  const Json decoder = {
      {"added_tokens_decoder", {{"263", Added(0, "END")}, {"262", Added(0, "<pad>")}}}};
  const Json half = {{"added_tokens_decoder", {{"263", Added(0, "END")}}}, {"pad_token", "<pad>"}};
  for (const std::string& path :
       {Pair({{"added_tokens.json", kAddedIds}, {"special_tokens_map.json", names}}),
        Pair({{"added_tokens.json", kAddedIds}, {"tokenizer_config.json", lists}}),
        Pair({{"tokenizer_config.json", decoder}}),
        Pair({{"tokenizer_config.json", decoder}, {"added_tokens.json", kAddedIds}}),
        Pair({{"tokenizer_config.json", half}, {"added_tokens.json", {{"<pad>", 262}}}}),
        Directory({{"vocab.json", vocab}, {"special_tokens_map.json", names}}),
        Whole({{"added_tokens.json", kAddedIds}, {"special_tokens_map.json", names}}),
        Whole({{"tokenizer_config.json", decoder}})}) {
    const auto tokenizer = Read(path);
    ASSERT_NE(tokenizer, nullptr);
    EXPECT_EQ(tokenizer->Fingerprint(), expected->Fingerprint()) << path;
    EXPECT_EQ(tokenizer->Decode(std::vector<int32_t>{262, 263}), "<pad>END");
  }
}

// transformers finds in text only those special tokens that a file names, not tokens that merely
// look special.
TEST_F(CompanionFilesTest, ATokenOfTheVocabularyAloneIsNotFoundInText) {
  Json vocab = SmallVocab();
  vocab["<s>"] = 262;
  vocab["<mask>"] = 263;
  const Json roles = {{"eos_token_id", 262}, {"model_type", "gpt2"}};
  const auto ids = [&](const Files& files) {
    Files all = files;
    all.emplace("vocab.json", vocab);
    return *Read(Directory(all))->EncodeWithSpecial("<s><mask><|endoftext|>");
  };
  const auto without = ids({});
  EXPECT_EQ(without.size(), 3 + 6 + 1);
  EXPECT_EQ(without.back(), 261);
  EXPECT_EQ(ids({{"config.json", roles}}), without);
  EXPECT_EQ(ids({{"special_tokens_map.json", {{"bos_token", "<s>"}}}}).front(), 262);
  EXPECT_EQ(ids({{"tokenizer_config.json", {{"mask_token", "<mask>"}}}})[3], 263);
  Json whole = SmallTokenizerJson();
  whole["model"]["vocab"] = vocab;
  const auto tokenizer = Read(Directory({{"tokenizer.json", whole}}));
  EXPECT_EQ(*tokenizer->EncodeWithSpecial("<s><mask><|endoftext|>"), without);
  EXPECT_EQ(tokenizer->Decode(std::vector<int32_t>{262, 263}), "<s><mask>");
}

// GPT2Tokenizer adds <|endoftext|> itself; the model has an embedding row for it.
TEST_F(CompanionFilesTest, TheClassAddsTheEndOfTextWhereTheModelHasARow) {
  Json vocab = SmallVocab();
  vocab.erase("<|endoftext|>");
  const Json model = {{"model_type", "gpt2"}, {"vocab_size", 262}};
  const auto read = [&](const Files& files) {
    Files all = files;
    all.emplace("vocab.json", vocab);
    return Read(Directory(all));
  };
  const auto added = read({{"config.json", model}});
  ASSERT_NE(added, nullptr);
  EXPECT_EQ(added->vocabulary_size(), 262);
  EXPECT_EQ(*added->EncodeWithSpecial("<|endoftext|>"), std::vector<int32_t>{261});
  EXPECT_EQ(read({})->vocabulary_size(), 261) << "nothing says which class";
  EXPECT_EQ(
      read({{"config.json", {{"model_type", "gpt2"}, {"vocab_size", 261}}}})->vocabulary_size(),
      261)
      << "the model has no row for it";
  const Json others = {{"tokenizer_class", "PreTrainedTokenizerFast"}};
  EXPECT_EQ(read({{"config.json", model}, {"tokenizer_config.json", others}})->vocabulary_size(),
            261);
  vocab["<s>"] = 261;
  const Json larger = {{"model_type", "gpt2"}, {"vocab_size", 263}};
  EXPECT_EQ(read({{"config.json", larger}})->vocabulary_size(), 263);
  const Json named = {{"bos_token", "<s>"}, {"eos_token", "<s>"}, {"unk_token", "<s>"}};
  EXPECT_EQ(read({{"config.json", larger}, {"special_tokens_map.json", named}})->vocabulary_size(),
            262);
}

// If tokenizer_config.json names no class, transformers uses the class of the model type.
TEST_F(CompanionFilesTest, TheClassOfTheModelIsObeyedOrRefused) {
  for (const char* type : {"roberta", "bart", "whisper", "gpt_neox", "qwen2"}) {
    const Json model = {{"model_type", type}};
    EXPECT_THAT(Error(Whole({{"config.json", model}})),
                AllOf(HasSubstr("config.json: model_type is \"" + std::string(type)),
                      HasSubstr("PreTrainedTokenizerFast")));
    EXPECT_THAT(Error(Pair({{"config.json", model}})), HasSubstr("names no tokenizer_class"));
    const Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"}};
    EXPECT_EQ(Error(Whole({{"config.json", model}, {"tokenizer_config.json", config}})), "");
  }
  for (const char* type : {"gpt2", "gpt_neo", "llama", "mine"}) {
    EXPECT_EQ(Error(Whole({{"config.json", {{"model_type", type}}}})), "") << type;
  }
  const Json model = {{"model_type", "gpt2"}, {"tokenizer_class", "RobertaTokenizer"}};
  EXPECT_THAT(Error(Whole({{"config.json", model}})),
              HasSubstr("config.json: tokenizer_class is \"RobertaTokenizer\""));
}

TEST_F(CompanionFilesTest, AFileAndItsDirectoryGiveTheSameTokenizer) {
  const Files files = {
      {"added_tokens.json", kAddedIds},
      {"special_tokens_map.json", {{"additional_special_tokens", {"<pad>", "END"}}}},
      {"tokenizer.json", SmallTokenizerJson()},
      {"vocab.json", SmallVocab()}};
  const std::string path = Directory(files);
  Write(JoinPath(path, "vocab.bpe"), kSmallMerges);
  Write(JoinPath(path, "encoder.json"), SmallVocab().dump());
  const std::string digest = Read(path)->Fingerprint();
  for (const char* name :
       {"tokenizer.json", "vocab.json", "merges.txt", "encoder.json", "vocab.bpe"}) {
    EXPECT_EQ(Read(JoinPath(path, name))->Fingerprint(), digest) << name;
  }
}

TEST_F(CompanionFilesTest, ThePrefixOfAVocabularyIsThatOfItsCompanions) {
  const std::string path = Directory({{"small-vocab.json", SmallVocab()},
                                      {"small-added_tokens.json", {{"<pad>", 262}}},
                                      {"small-special_tokens_map.json", {{"pad_token", "<pad>"}}},
                                      {"added_tokens.json", {{"<other>", 262}, {"<more>", 263}}}});
  Write(JoinPath(path, "small-merges.txt"), kSmallMerges);
  EXPECT_EQ(Read(JoinPath(path, "small-vocab.json"))->vocabulary_size(), 263);
}

// transformers does the same.
TEST_F(CompanionFilesTest, NamedTokensWithoutIdsGetTheNextOnes) {
  const Json config = {{"bos_token", "<|endoftext|>"},
                       {"mask_token", "<mask>"},
                       {"eos_token", "<eos>"},
                       {"pad_token", nullptr},
                       {"unk_token", ""},
                       {"additional_special_tokens", {"<x>", "<mask>"}}};
  for (const std::string& path :
       {Pair({{"tokenizer_config.json", config}}), Whole({{"tokenizer_config.json", config}})}) {
    EXPECT_EQ(Read(path)->Decode(std::vector<int32_t>{262, 263, 264}), "<eos><mask><x>");
  }
  // special_tokens_map.json takes precedence over tokenizer_config.json.
  EXPECT_EQ(Read(Pair({{"tokenizer_config.json", {{"eos_token", "<a>"}}},
                       {"special_tokens_map.json", {{"eos_token", "<b>"}}}}))
                ->Decode(std::vector<int32_t>{262}),
            "<b>");
  Json vocab = SmallVocab();
  vocab.erase("<|endoftext|>");
  EXPECT_THAT(Error(Directory({{"vocab.json", vocab}, {"tokenizer_config.json", config}})),
              AllOf(HasSubstr("tokenizer_config.json: bos_token: '<|endoftext|>' has no id"),
                    HasSubstr("write it into added_tokens.json")));
}

TEST_F(CompanionFilesTest, IdsThatDoNotGoOnFromTheVocabularyAreRefused) {
  const Json names = {{"additional_special_tokens", {"<a>", "<b>"}}};
  const auto error = [&](const Json& ids) {
    return Error(Pair({{"added_tokens.json", ids}, {"special_tokens_map.json", names}}));
  };
  EXPECT_THAT(error({{"<a>", 262}, {"<b>", 264}}),
              AllOf(HasSubstr("vocab.json: added_tokens.json: '<b>' has the id 264, expected 263"),
                    HasSubstr("'<unused263>'")));
  EXPECT_THAT(error({{"<a>", 262}, {"<b>", 262}}), HasSubstr("'<b>' has the id 262, expected 263"));
  EXPECT_THAT(error({{"<a>", 5}}), HasSubstr("'<a>' has the id 5, expected 262"));
  EXPECT_THAT(error({{"<|endoftext|>", 262}}),
              HasSubstr("'<|endoftext|>' has the id 262, expected 261"));
  EXPECT_THAT(error({{"<a>", -1}}), HasSubstr("added_tokens.json: the id of '<a>' is -1"));
  EXPECT_THAT(error({{"<a>", "262"}}), HasSubstr("the id of '<a>' is \"262\""));
  EXPECT_THAT(error({{"", 262}}), HasSubstr("the token with the id 262 is empty"));
}

TEST_F(CompanionFilesTest, FilesThatContradictEachOtherAreRefused) {
  EXPECT_THAT(Error(Pair({{"added_tokens.json", {{"<a>", 262}}},
                          {"tokenizer_config.json",
                           {{"added_tokens_decoder", {{"263", Added(0, "<a>")}}}}}})),
              AllOf(HasSubstr("added_tokens.json: '<a>' has the id 262, but 263 in"),
                    HasSubstr("tokenizer_config.json: added_tokens_decoder['263']")));
  EXPECT_THAT(
      Error(Whole({{"added_tokens.json", {{"<|endoftext|>", 262}}}})),
      HasSubstr("tokenizer.json: added_tokens.json: '<|endoftext|>' has the id 262, but 261 in "
                "added_tokens[0]"));
}

TEST_F(CompanionFilesTest, ATokenThatNobodyCallsSpecialIsRefused) {
  EXPECT_THAT(Error(Pair({{"added_tokens.json", {{"<NUMBER>", 262}}}})),
              AllOf(HasSubstr("added_tokens.json: '<NUMBER>' is not special"),
                    HasSubstr("\"additional_special_tokens\" of special_tokens_map.json")));
  EXPECT_THAT(Error(Pair({{"tokenizer_config.json",
                           {{"added_tokens_decoder", {{"262", Added(0, "<N>", false)}}}}}})),
              HasSubstr("added_tokens_decoder['262']: '<N>' is not special"));
}

// Old GPT-2 directories list <|endoftext|> in added_tokens.json without calling it special.
TEST_F(CompanionFilesTest, TheEndOfTextIsSpecialUntold) {
  EXPECT_EQ(Read(Pair({{"added_tokens.json", {{"<|endoftext|>", 261}}}}))->Fingerprint(),
            Read(Pair({}))->Fingerprint());
}

TEST_F(CompanionFilesTest, DamageIsNamedWithItsFileAndKey) {
  const auto config = [&](const Json& json) {
    return Error(Pair({{"tokenizer_config.json", json}}));
  };
  EXPECT_THAT(config({{"added_tokens_decoder", 7}}),
              HasSubstr("tokenizer_config.json: added_tokens_decoder is not an object"));
  EXPECT_THAT(config({{"added_tokens_decoder", {{"x", Added(0, "<a>")}}}}),
              HasSubstr("added_tokens_decoder['x']: expected an id"));
  EXPECT_THAT(config({{"added_tokens_decoder", {{"262", {{"content", 7}}}}}}),
              HasSubstr("added_tokens_decoder['262']: content is 7, expected the token's text"));
  EXPECT_THAT(config({{"added_tokens_decoder", {{"262", {{"content", "<a>"}, {"lstrip", 1}}}}}}),
              HasSubstr("lstrip is 1, expected true or false"));
  EXPECT_THAT(config({{"eos_token", 7}}), HasSubstr("eos_token: is not an object"));
  EXPECT_THAT(config({{"extra_special_tokens", "x"}}),
              HasSubstr("extra_special_tokens is not a list"));
  for (const char* name :
       {"added_tokens.json", "tokenizer_config.json", "special_tokens_map.json"}) {
    const std::string path = Pair({});
    const std::string text = R"({"<a>": 262, "eos_token": "<a>"})";
    for (size_t size = 0; size < text.size(); ++size) {
      Write(JoinPath(path, name), text.substr(0, size));
      EXPECT_THAT(Error(path), HasSubstr(JoinPath(path, name))) << size;
    }
  }
}

TEST_F(CompanionFilesTest, TextInAnotherEncodingIsNamedWithTheCommand) {
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
                           "generation_config.json"}) {
    const std::string directory = Whole({});
    const std::string path = JoinPath(directory, name);
    Write(path, std::string("\xff\xfe{\0}\0", 6));
    EXPECT_THAT(Error(directory), HasSubstr("is text in UTF-16, expected a tokenizer; convert it: "
                                            "iconv -f UTF-16 -t UTF-8 " +
                                            path));
  }
}

TEST_F(CompanionFilesTest, AConfigurationThatChangesIdsIsRefused) {
  for (const char* key : {"add_prefix_space", "add_bos_token", "add_eos_token"}) {
    EXPECT_THAT(Error(Pair({{"tokenizer_config.json", {{key, true}}}})),
                AllOf(HasSubstr(std::string("tokenizer_config.json: ") + key + " is true"),
                      HasSubstr("set it to false")));
    EXPECT_NE(Read(Pair({{"tokenizer_config.json", {{key, false}}}})), nullptr);
  }
  EXPECT_THAT(Error(Pair({{"tokenizer_config.json", {{"tokenizer_class", "RobertaTokenizer"}}}})),
              HasSubstr("tokenizer_class is \"RobertaTokenizer\", expected GPT2Tokenizer"));
  EXPECT_THAT(Error(Whole({{"tokenizer_config.json", {{"add_prefix_space", true}}}})),
              HasSubstr("add_prefix_space is true"));
  // With a tokenizer.json, these keys have no effect.
  EXPECT_NE(Read(Whole({{"tokenizer_config.json",
                         {{"add_bos_token", true}, {"tokenizer_class", "CodeGenTokenizer"}}}})),
            nullptr);
}

// transformers 5 uses only the vocabulary of tokenizer.json for these classes, so they split text
// differently.
TEST_F(CompanionFilesTest, AClassThatCutsTextOtherwiseThanTokenizerJsonIsRefused) {
  for (const char* name : {"RobertaTokenizer", "RobertaTokenizerFast", "GPTNeoXTokenizerFast",
                           "Qwen2Tokenizer", "BertTokenizer", "LlamaTokenizerFast"}) {
    EXPECT_THAT(Error(Whole({{"tokenizer_config.json", {{"tokenizer_class", name}}}})),
                AllOf(HasSubstr(std::string("tokenizer_class is \"") + name),
                      HasSubstr("set tokenizer_class to PreTrainedTokenizerFast")));
  }
  for (const char* name : {"GPT2Tokenizer", "GPT2TokenizerFast", "PreTrainedTokenizerFast",
                           "TokenizersBackend", "CodeGenTokenizerFast"}) {
    EXPECT_NE(Read(Whole({{"tokenizer_config.json", {{"tokenizer_class", name}}}})), nullptr);
  }
}

// transformers applies added_tokens_decoder after tokenizer.json. Names of special tokens do not
// change the flags of an existing token.
TEST_F(CompanionFilesTest, FlagsOfAddedTokensDecoderCountBeforeThoseOfTokenizerJson) {
  const auto flags_of = [&](const Files& files) {
    const auto tokenizer = Read(Whole(files));
    return tokenizer == nullptr ? SpecialTokenFlags() : tokenizer->vocabulary().FlagsOf(261);
  };
  Json token = Added(0, "<|endoftext|>");
  token.update({{"lstrip", true}, {"rstrip", true}});
  const SpecialTokenFlags strip{.lstrip = true, .rstrip = true};
  const Json decoder = {{"added_tokens_decoder", {{"261", token}}}};
  EXPECT_EQ(flags_of({{"tokenizer_config.json", decoder}}), strip);
  EXPECT_EQ(flags_of({{"special_tokens_map.json", {{"eos_token", token}}}}), SpecialTokenFlags());
}

TEST_F(CompanionFilesTest, HowATokenIsFoundInTextIsHandedOn) {
  const SpecialTokenFlags strip{.lstrip = true, .rstrip = true};
  const SpecialTokenFlags word{.single_word = true};
  Json mask = Added(0, "<mask>");
  mask.update({{"lstrip", true}, {"rstrip", true}});
  const Json config = {
      {"added_tokens_decoder",
       {{"262", mask}, {"263", {{"content", "END"}, {"special", true}, {"single_word", true}}}}}};
  const auto tokenizer = Read(Pair({{"tokenizer_config.json", config}}));
  EXPECT_EQ(tokenizer->vocabulary().FlagsOf(262), strip);
  EXPECT_EQ(tokenizer->vocabulary().FlagsOf(263), word);
  EXPECT_EQ(tokenizer->vocabulary().FlagsOf(261), SpecialTokenFlags());
  const std::string target = directory_.File("exported");
  ASSERT_TRUE(MakeDirectories(target).ok());
  for (const auto& [name, text] : HuggingFaceTokenizerFiles(*tokenizer)) {
    Write(JoinPath(target, name), text);
  }
  for (const char* name : {"tokenizer.json", "merges.txt"}) {
    const auto back = Read(JoinPath(target, name));
    ASSERT_NE(back, nullptr) << name;
    EXPECT_EQ(back->Serialized(), tokenizer->Serialized()) << name;
  }
  // The flags come from the token's name entry if the list of added tokens has none.
  EXPECT_EQ(Read(Pair({{"added_tokens.json", {{"<mask>", 262}}},
                       {"special_tokens_map.json", {{"mask_token", mask}}}}))
                ->vocabulary()
                .FlagsOf(262),
            strip);
}

}  // namespace
}  // namespace gp
