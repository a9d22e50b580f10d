// gpctl data through RunGpctl: what it writes, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "client/gpctl/gpctl_runner.h"
#include "tokenizer/files/tokenizer_file.h"

namespace gp::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class DataCommandTest : public ::testing::Test {
 protected:
  Outcome Train(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"data", "train-tokenizer"});
    return gpctl_.Run(arguments);
  }

  std::string Text(const std::string& name, const std::string& text) {
    std::string path = JoinPath(gpctl_.home(), name);
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    return path;
  }

  std::string TokenizerText(const std::string& directory) {
    return ReadFile(JoinPath(directory, "tokenizer.json")).value_or("");
  }

  GpctlRunner gpctl_;
  const std::string text_ = Text("text.txt", "the cat, the dog and the end of the matter\n");
  const std::string out_ = JoinPath(gpctl_.home(), "tokenizer");
};

TEST_F(DataCommandTest, TrainTokenizerWritesADirectoryThatIsATokenizer) {
  const Outcome outcome = Train({text_, "--vocab-size", "259", "--out", out_});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("259 ids learned from 43 B of text"));
  EXPECT_THAT(*ListDirectory(out_),
              ElementsAre("merges.txt", "special_tokens_map.json", "tokenizer.json",
                          "tokenizer_config.json", "vocab.json"));
  const auto tokenizer = ReadTokenizer(out_);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ((*tokenizer)->vocabulary_size(), 259);
  EXPECT_EQ((*tokenizer)->Encode(" the")->size(), 2u);  // "Ġt he"
}

TEST_F(DataCommandTest, TrainTokenizerGivesTheSameBytesWhateverTheThreads) {
  ASSERT_EQ(Train({text_, "--vocab-size", "270", "--out", out_ + "1", "--threads", "1"}).code, 0);
  ASSERT_EQ(Train({text_, "--vocab-size", "270", "--out", out_ + "3", "--threads", "3"}).code, 0);
  EXPECT_EQ(TokenizerText(out_ + "1"), TokenizerText(out_ + "3"));
}

TEST_F(DataCommandTest, TrainTokenizerReadsEveryFormOfText) {
  ASSERT_EQ(Train({text_, "--vocab-size", "270", "--out", out_}).code, 0);
  const std::string folder = JoinPath(gpctl_.home(), "folder");
  ASSERT_TRUE(MakeDirectories(folder).ok());
  Text("folder/lines.jsonl", "{\"words\": \"the cat, the dog and the end of the matter\\n\"}\n");
  const Outcome outcome =
      Train({folder, "--text-field", "words", "--vocab-size", "270", "--out", out_ + "2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("learned from 43 B of text"));
  EXPECT_EQ(TokenizerText(out_ + "2"), TokenizerText(out_));
  EXPECT_THAT(Train({folder, "--vocab-size", "270", "--out", out_ + "3"}).err,
              HasSubstr("lines.jsonl:1: "));
}

TEST_F(DataCommandTest, TrainTokenizerSaysThatATextIsTooShort) {
  const Outcome outcome = Train({text_, "--vocab-size", "5000", "--out", out_, "-o", "json"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err,
              HasSubstr("ids instead of 5000: no other pair of tokens occurs 2 times"));
  EXPECT_EQ(json::parse(outcome.out)["kind"], "TrainedTokenizer");
}

TEST_F(DataCommandTest, TrainTokenizerSaysThatThereIsNoText) {
  const std::string empty = Text("empty.txt", "");
  const Outcome outcome = Train({empty, "--vocab-size", "257", "--out", out_});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("empty.txt holds no text; name files that contain text"));
  EXPECT_FALSE(FileExists(out_));
}

TEST_F(DataCommandTest, TrainTokenizerReplacesNothingUnasked) {
  ASSERT_EQ(Train({text_, "--vocab-size", "258", "--out", out_}).code, 0);
  const std::string before = TokenizerText(out_);
  const Outcome again = Train({text_, "--vocab-size", "259", "--out", out_});
  EXPECT_NE(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("exists already; --force replaces it"));
  EXPECT_EQ(TokenizerText(out_), before);
  EXPECT_EQ(Train({text_, "--vocab-size", "259", "--out", out_, "--force"}).code, 0);
  EXPECT_NE(TokenizerText(out_), before);
}

TEST_F(DataCommandTest, TrainTokenizerNamesWhatItCannotUse) {
  EXPECT_THAT(
      Train({JoinPath(gpctl_.home(), "none.txt"), "--vocab-size", "300", "--out", out_}).err,
      HasSubstr("none.txt does not exist"));
  const Outcome small = Train({text_, "--vocab-size", "256", "--out", out_});
  EXPECT_EQ(small.code, 2);
  EXPECT_THAT(small.err, HasSubstr("257"));
  EXPECT_FALSE(FileExists(out_));
}

TEST_F(DataCommandTest, TrainTokenizerLeavesNothingWhereItCannotWrite) {
  const std::string file = Text("file", "x");
  const Outcome outcome = Train({text_, "--vocab-size", "300", "--out", JoinPath(file, "below")});
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr(file));
}

TEST_F(DataCommandTest, TrainTokenizerStopsAtCtrlC) {
  gpctl_.terminal = true;
  gpctl_.interrupt_when_out_contains = "Reading";
  std::string much;
  for (int i = 0; i < 300'000; ++i) much += "word ";
  const Outcome outcome = Train({Text("much.txt", much), "--vocab-size", "300", "--out", out_});
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_FALSE(FileExists(out_));
}

TEST_F(DataCommandTest, PrepareTellsOfEndsThatTheTextSpells) {
  const std::string stories = Text("stories.txt", "one<|endoftext|>\ntwo<|endoftext|>\n");
  ASSERT_EQ(Train({text_, "--vocab-size", "259", "--out", out_}).code, 0);
  const auto prepare = [&](const std::string& name, std::vector<std::string> more) {
    more.insert(more.begin(), {"data", "prepare", stories, "--tokenizer", out_, "--val-tokens", "0",
                               "--out", JoinPath(gpctl_.home(), name)});
    return gpctl_.Run(more);
  };
  const Outcome whole = prepare("whole", {});
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_THAT(whole.err, HasSubstr("warning: the text contains <|endoftext|> 2 times"));
  EXPECT_THAT(whole.err, HasSubstr("--split-on '<|endoftext|>'"));
  EXPECT_THAT(whole.out, HasSubstr("documents   1\n"));
  EXPECT_THAT(gpctl_.Run({"data", "inspect", JoinPath(gpctl_.home(), "whole")}).err,
              HasSubstr("<|endoftext|> 2 times"));
  EXPECT_THAT(prepare("misspelled", {"--split-on", "<|endoftext>"}).err,
              HasSubstr("warning: '<|endoftext>' (--split-on) occurs in no file"));
  const Outcome divided = prepare("divided", {"--split-on", "<|endoftext|>"});
  EXPECT_EQ(divided.code, 0) << divided.err;
  EXPECT_EQ(divided.err, "");
  EXPECT_THAT(divided.out, HasSubstr("documents   2 (1 empty ones left out)"));
  EXPECT_THAT(divided.out, HasSubstr("end of text (258) before each document"));
}

TEST_F(DataCommandTest, TrainTokenizerTellsOfEndsThatTheTextSpells) {
  const std::string stories = Text("stories.txt", "one<|endoftext|>\ntwo<|endoftext|>\n");
  const auto train = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {stories, "--vocab-size", "300", "--out", out_, "--force"});
    return Train(more).err;
  };
  EXPECT_THAT(train({}), AllOf(HasSubstr("warning: the text contains <|endoftext|> 2 times"),
                               HasSubstr("--split-on '<|endoftext|>'")));
  EXPECT_THAT(train({"--split-on", "<|endoftext|>"}), Not(HasSubstr("warning")));
}

TEST_F(DataCommandTest, ReadersOfAFolderSayWhatTheyLeaveOut) {
  const std::string folder = JoinPath(gpctl_.home(), "folder");
  ASSERT_TRUE(MakeDirectories(folder).ok());
  Text("folder/a.txt", "one two three");
  Text("folder/0.parquet", "PAR1");
  const auto left_out = HasSubstr("warning: " + folder + ": skipped 1 of 2 files");
  EXPECT_THAT(Train({folder, "--vocab-size", "300", "--out", out_}).err, left_out);
  EXPECT_THAT(gpctl_
                  .Run({"data", "prepare", folder, "--tokenizer", "bytes", "--val-tokens", "0",
                        "--out", JoinPath(gpctl_.home(), "prepared")})
                  .err,
              left_out);
}

TEST_F(DataCommandTest, PrepareTellsThatNothingSeparatesDocuments) {
  const std::string lines = Text("lines.txt", "one\ntwo\n");
  const Outcome outcome = gpctl_.Run({"data", "prepare", lines, "--tokenizer", "bytes", "--split",
                                      "line", "--val-tokens", "0", "--out", out_});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("nothing separates the documents"));
}

}  // namespace
}  // namespace gp::testing
