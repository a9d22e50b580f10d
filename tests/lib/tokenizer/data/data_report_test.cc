#include "tokenizer/data/data_report.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "formats/token_shard.h"
#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DataReportTest : public ::testing::Test {
 protected:
  DataReportTest() { spec_.batch.sequence = 4; }

  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = JoinPath(directory_.path(), name);
    EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
    return path;
  }

  // An llm.c shard with the tokens 0, 1, ... modulo `modulus`, except for `last` as the last token.
  std::string WriteShard(const std::string& name, int32_t count, int32_t modulus, int32_t last) {
    std::vector<int32_t> tokens;
    for (int32_t i = 1; i < count; ++i) tokens.push_back(i % modulus);
    tokens.push_back(last);
    return Write(name, formats::FormatLlmCShard(tokens));
  }

  DataReport Inspect(const InspectionLimits& limits = {}) {
    const auto report = InspectData(spec_, limits);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.value_or(DataReport());
  }

  std::string Error() { return Message(InspectData(spec_).status()); }

  TemporaryDirectory directory_;
  runspec::RunSpec spec_;
};

TEST_F(DataReportTest, CountsATextsTokensAndCharacters) {
  spec_.data.text = {Write("a.txt", "ééé"), Write("b.txt", "abcdefg")};
  spec_.data.tokenizer = "chars";
  spec_.data.val_fraction = 0.2;
  const DataReport report = Inspect();
  EXPECT_EQ(report.train_files, 2);
  EXPECT_EQ(report.train_tokens, 8);
  EXPECT_EQ(report.validation_tokens, 2);
  EXPECT_EQ(report.vocabulary, 8);
  EXPECT_EQ(report.largest_id, -1);
  EXPECT_FALSE(report.estimated);
  spec_.data.tokenizer = "bytes";
  EXPECT_EQ(Inspect().train_tokens, 10);
}

TEST_F(DataReportTest, EndsThatTheTextSpellsAreSaidAndMayDivideIt) {
  spec_.data.text = {Write("a.txt", "ab<|endoftext|>\ncd<|endoftext|>\n")};
  spec_.data.tokenizer = Write("vocab.bpe", "l l\n");
  spec_.data.val_fraction = 0;
  EXPECT_EQ(Inspect().train_tokens, 32);
  EXPECT_THAT(Inspect().warnings,
              ElementsAre(AllOf(HasSubstr("data.text contains <|endoftext|> 2 times"),
                                HasSubstr("data.split_on: '<|endoftext|>'"))));
  spec_.data.split_on = "<|endoftext|>";
  // The tokens: end of text, a, b, end of text, line break, c, d. The part after the last delimiter
  // is blank and dropped.
  EXPECT_EQ(Inspect().train_tokens, 7);
  EXPECT_THAT(Inspect().warnings, ElementsAre());
  spec_.data.split_on = "<|endoftext>";
  EXPECT_THAT(Inspect().warnings,
              Contains(HasSubstr("'<|endoftext>' (data.split_on) does not occur in the text")));
}

TEST_F(DataReportTest, WhatIsNoTextIsRefusedInEveryFile) {
  const std::string text = Write("a.txt", "Some text, enough for a window and more.");
  const std::string json = Write("b.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\"}\n");
  spec_.data.text = {text, json};
  EXPECT_THAT(Error(), HasSubstr(json + " looks like lines of JSON"));
  InspectionLimits limits;
  limits.text_bytes = 8;  // reached within the first file
  EXPECT_THAT(Message(InspectData(spec_, limits).status()), HasSubstr("looks like lines of JSON"));
  spec_.data.format = runspec::DataFormat::kText;
  EXPECT_EQ(Inspect().train_files, 2);
}

TEST_F(DataReportTest, WiderTokensAreRefusedUnlessTheFormatIsGiven) {
  std::string bytes;
  for (int i = 1; i < 500; ++i) {
    bytes += {static_cast<char>(i * 37), static_cast<char>(i % 190), '\0', '\0'};
  }
  spec_.data = {.train = {Write("wide.bin", bytes)}, .tokenizer = "gpt2"};
  EXPECT_THAT(Error(), HasSubstr("data.train: "));
  EXPECT_THAT(Error(), HasSubstr("looks like tokens of 4 bytes"));
  spec_.data.format = runspec::DataFormat::kUint16;
  EXPECT_EQ(Inspect().train_tokens, 998);
}

// The shard's header promises these tokens.
TEST_F(DataReportTest, ZerosAtTheEndOfAShardAreWarnedOf) {
  std::vector<int32_t> tokens;
  for (int i = 1; i < 30'000; ++i) tokens.push_back(i * 37 % 50'000);
  const auto inspect = [&](size_t zeros) {
    std::vector<int32_t> all = tokens;
    all.resize(all.size() + zeros);
    spec_.data = {.train = {Write("shard.bin", formats::FormatLlmCShard(all))},
                  .tokenizer = "gpt2"};
    return Inspect().warnings;
  };
  EXPECT_TRUE(inspect(2000).empty()) << "a padded text";
  ASSERT_EQ(inspect(5000).size(), 1);
  EXPECT_THAT(inspect(5000)[0], HasSubstr("ends with at least 5000 tokens that are 0"));
  EXPECT_THAT(inspect(40'000)[0], HasSubstr("ends with at least 16384 tokens that are 0"));
}

TEST_F(DataReportTest, BigEndianTokensAreRefusedUnlessTheFormatIsGiven) {
  std::string bytes;
  for (int i = 1; i < 500; ++i) bytes += {static_cast<char>(i % 7), static_cast<char>(i * 37)};
  spec_.data = {.train = {Write("swapped.bin", bytes)}, .tokenizer = "gpt2"};
  EXPECT_THAT(Error(), HasSubstr("data.train: "));
  EXPECT_THAT(Error(), HasSubstr("looks like big-endian tokens of 2 bytes"));
  spec_.data.format = runspec::DataFormat::kUint16;
  EXPECT_THAT(Error(), HasSubstr("is not below the vocabulary of 50257"));
}

TEST_F(DataReportTest, ATokenizerOfAFileCountsItsTokens) {
  spec_.data.text = {Write("a.txt", "hello hello hello hello")};
  spec_.data.tokenizer = Write("vocab.bpe", "l l\nĠ h\n");
  const DataReport report = Inspect();
  EXPECT_EQ(report.vocabulary, 259);
  EXPECT_EQ(report.train_tokens + report.validation_tokens, 16);
  spec_.data.tokenizer = JoinPath(directory_.path(), "none.json");
  EXPECT_THAT(Error(), HasSubstr("data.tokenizer: "));
}

TEST_F(DataReportTest, EstimatesALongTextFromItsBeginning) {
  std::string text;
  while (text.size() < 3 << 20) text += "aé";
  spec_.data.text = {Write("a.txt", text), Write("b.txt", text)};
  spec_.data.tokenizer = "chars";
  spec_.data.val_fraction = 0;
  const DataReport report = Inspect({.text_bytes = (1 << 20) + 2});
  EXPECT_TRUE(report.estimated);
  EXPECT_EQ(report.vocabulary, 2);
  EXPECT_NEAR(static_cast<double>(report.train_tokens), 4.0 * (1 << 20), 10);
}

TEST_F(DataReportTest, FindsTheLargestIdOfShards) {
  spec_.data.train = {WriteShard("a.bin", 100, 50, 7), WriteShard("b.bin", 50, 50, 99)};
  spec_.data.val = {WriteShard("v.bin", 30, 50, 3)};
  const DataReport report = Inspect();
  EXPECT_EQ(report.format, "llm.c");
  EXPECT_EQ(report.train_files, 2);
  EXPECT_EQ(report.train_tokens, 150);
  EXPECT_EQ(report.validation_tokens, 30);
  EXPECT_EQ(report.largest_id, 99);
  EXPECT_EQ(report.vocabulary, 256);
  EXPECT_FALSE(report.sampled);
  EXPECT_THAT(report.warnings, IsEmpty());
  spec_.data.val = {spec_.data.train[1]};
  EXPECT_THAT(Inspect().warnings,
              ElementsAre(HasSubstr("b.bin, which data.train names, too: the validation loss")));
}

TEST_F(DataReportTest, AMixtureNeedsAWindowInEveryEntry) {
  spec_.data.train = {WriteShard("a.bin", 100, 50, 7), WriteShard("b1.bin", 30, 50, 9)};
  WriteShard("b2.bin", 40, 50, 9);
  spec_.data.train[1] = directory_.File("b*.bin");
  spec_.data.weights = {1, 2};
  EXPECT_EQ(Inspect().entry_tokens, (std::vector<int64_t>{100, 70}));
  spec_.data.train[0] = WriteShard("a.bin", 4, 50, 7);
  EXPECT_THAT(Error(), HasSubstr("data.train " + spec_.data.train[0] + ": "));
}

// The trainer refuses it too, but only after it has started.
TEST_F(DataReportTest, ValidationNeedsATokenToReadAndOneToPredict) {
  spec_.data.train = {WriteShard("a.bin", 100, 50, 7)};
  spec_.data.val = {WriteShard("v.bin", 1, 50, 3)};
  EXPECT_THAT(Error(), HasSubstr("data.val: the files hold 1 token, expected at least 2"));
  spec_.data.val = {Write("v.bin", formats::FormatLlmCShard({}))};
  EXPECT_THAT(Error(), HasSubstr("data.val: the files hold 0 tokens"));
  spec_.data.val = {Write("v.raw", std::string("\7\0", 2))};
  EXPECT_THAT(Error(), HasSubstr("data.val: the files hold 1 token,"));
  // Files shorter than a window are padded, so only the total of all files counts.
  spec_.data.val = {WriteShard("v.bin", 1, 50, 3), WriteShard("w.bin", 1, 50, 3)};
  EXPECT_EQ(Inspect().validation_tokens, 2);
}

TEST_F(DataReportTest, SamplesShardsThatAreLongerThanItsLimit) {
  spec_.data.train = {WriteShard("a.bin", 3 << 20, 200, 255)};
  EXPECT_EQ(Inspect().largest_id, 255);
  const DataReport report = Inspect({.tokens = 1 << 20});
  EXPECT_TRUE(report.sampled);
  EXPECT_EQ(report.largest_id, 199);
  EXPECT_EQ(report.train_tokens, 3 << 20);
}

TEST_F(DataReportTest, NamesWhatKeepsARunFromTraining) {
  spec_.data.train = {JoinPath(directory_.path(), "missing.bin")};
  EXPECT_THAT(Error(), HasSubstr("data.train: " + spec_.data.train[0] + " does not exist"));
  spec_.data.train = {Write("text.bin", "abc")};
  EXPECT_THAT(Error(), HasSubstr("text files belong in data.text"));
  spec_.data.train = {WriteShard("large.bin", 10, 50, 256)};
  EXPECT_THAT(Error(), HasSubstr("token 256 at position 9 is not below the vocabulary of 256"));
  spec_.data.train = {WriteShard("short.bin", 4, 50, 1)};
  EXPECT_THAT(Error(), HasSubstr("one sequence needs batch.sequence + 1 = 5"));
  spec_.data.train = {WriteShard("good.bin", 10, 50, 1)};
  spec_.data.order = runspec::BatchOrder::kSequential;
  EXPECT_THAT(Error(), HasSubstr("no training file holds the 32 tokens of one micro-batch"));
  spec_.data.tokenizer = "chars";
  EXPECT_THAT(Error(), HasSubstr("meta.pkl"));
}

TEST_F(DataReportTest, ExplainsAVocabularyThatIsTooSmall) {
  spec_.data.text = {Write("a.txt", "abcdefghijabcdefghij")};
  spec_.data.tokenizer = "chars";
  spec_.vocabulary_auto = false;
  spec_.model.vocabulary = 9;
  EXPECT_THAT(Error(),
              HasSubstr("model.vocab 9 is smaller than the 10 ids of the chars tokenizer"));
  EXPECT_THAT(Error(), HasSubstr("write model.vocab: auto"));
  spec_.model.vocabulary = 10;
  EXPECT_EQ(Inspect().vocabulary, 10);
}

}  // namespace
}  // namespace gp
