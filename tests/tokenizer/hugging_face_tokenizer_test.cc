// What Hugging Face's own library makes of these files: hugging_face_test.py.
#include "tokenizer/hugging_face_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/temporary_directory.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/byte_tokenizer.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/tokenizer_file.h"

namespace gp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using Json = nlohmann::json;

void ExpectItComesBack(const Tokenizer& tokenizer) {
  const TemporaryDirectory directory;
  for (const auto& [name, text] : HuggingFaceTokenizerFiles(tokenizer)) {
    ASSERT_TRUE(WriteFileAtomically(JoinPath(directory.path(), name), text).ok());
  }
  for (const std::string& path : {directory.path(), JoinPath(directory.path(), "merges.txt")}) {
    const auto back = ReadTokenizer(path);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ((*back)->kind(), tokenizer.kind());
    EXPECT_EQ((*back)->Fingerprint(), tokenizer.Fingerprint());
  }
}

TEST(HuggingFaceTokenizer, BytePairFilesComeBackEqual) {
  ExpectItComesBack(**BytePairTokenizer::FromMerges("h e\nl l\nhe ll\nĠ w\nhell o\n"));
}

TEST(HuggingFaceTokenizer, BytesAre256TokensWithoutMerges) {
  ExpectItComesBack(ByteTokenizer());
  const auto files = HuggingFaceTokenizerFiles(ByteTokenizer());
  EXPECT_THAT(files, ElementsAre(Key("merges.txt"), Key("tokenizer.json"),
                                 Key("tokenizer_config.json"), Key("vocab.json")));
  const Json vocab = Json::parse(files.at("vocab.json"));
  EXPECT_EQ(vocab.size(), 256u);
  EXPECT_EQ(vocab["A"], 65);
  EXPECT_EQ(vocab["Ġ"], 32);
  EXPECT_EQ(Json::parse(files.at("tokenizer.json"))["model"]["merges"], Json::array());
}

TEST(HuggingFaceTokenizer, CharactersAreABpeWithoutMerges) {
  const auto tokenizer = CharTokenizer::FromText("zebra €\n\"");
  const auto files = HuggingFaceTokenizerFiles(**tokenizer);
  EXPECT_THAT(files, ElementsAre(Key("tokenizer.json"), Key("tokenizer_config.json")));
  const auto back = ParseTokenizer(files.at("tokenizer.json"));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ((*back)->Fingerprint(), (*tokenizer)->Fingerprint());
  const Json vocab = Json::parse(files.at("tokenizer.json"))["model"]["vocab"];
  EXPECT_EQ(vocab["\n"], 0);
  EXPECT_EQ(vocab["€"], (*tokenizer)->vocabulary_size() - 1);
}

TEST(HuggingFaceTokenizer, CharactersOfAnotherOrderAreRefused) {
  std::string text =
      HuggingFaceTokenizerFiles(**CharTokenizer::FromText("ab")).at("tokenizer.json");
  text.replace(text.find(R"("a":0,"b":1)"), 11, R"("a":1,"b":0)");
  EXPECT_THAT(Message(ParseTokenizer(text).status()), HasSubstr("found 'a' with the id 1, not 0"));
}

TEST(HuggingFaceTokenizer, TheConfigNamesTheEndOfText) {
  const auto tokenizer = BytePairTokenizer::FromMerges("h e\n");
  const auto config = [](const Tokenizer& of) {
    return Json::parse(HuggingFaceTokenizerFiles(of).at("tokenizer_config.json"));
  };
  EXPECT_EQ(config(**tokenizer)["eos_token"], "<|endoftext|>");
  EXPECT_FALSE(config(ByteTokenizer()).contains("eos_token"));
}

}  // namespace
}  // namespace gp
