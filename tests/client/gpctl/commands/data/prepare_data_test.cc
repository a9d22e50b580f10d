// gpctl data prepare, inspect, verify and generate through RunGpctl.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class PrepareCommandTest : public ::testing::Test {
 protected:
  Outcome Data(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "data");
    return gpctl_.Run(arguments);
  }
  std::string Text(const std::string& name, const std::string& text) {
    std::string path = JoinPath(gpctl_.home(), name);
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    return path;
  }
  std::string PathOf(const std::string& name) { return JoinPath(gpctl_.home(), name); }

  GpctlRunner gpctl_;
  const std::string text_ = Text("text.txt", "one\n\ntwo\n\nthree\n");
};

TEST_F(PrepareCommandTest, PreparesInspectsAndVerifies) {
  const Outcome prepared = Data({"prepare", text_, "--out", PathOf("d"), "--tokenizer", "bytes",
                                 "--split", "blank-line", "--val-tokens", "3"});
  EXPECT_EQ(prepared.code, 0) << prepared.err;
  EXPECT_THAT(prepared.out,
              AllOf(HasSubstr("train       8 tokens in 1 shard"), HasSubstr("documents   3"),
                    HasSubstr("train: [\"" + PathOf("d") + "/d_train_*.bin\"]"),
                    HasSubstr("tokenizer: bytes")));
  EXPECT_THAT(*ListDirectory(PathOf("d")),
              ElementsAre("d_train_000001.bin", "d_val_000000.bin", "dataset.json"));
  EXPECT_THAT(Data({"inspect", PathOf("d")}).out, HasSubstr("tokenizer   bytes, 256 ids"));
  const Outcome verified = Data({"verify", PathOf("d")});
  EXPECT_EQ(verified.code, 0);
  EXPECT_THAT(verified.out, HasSubstr("intact: "));
  const Outcome shard = Data({"inspect", PathOf("d/d_train_000001.bin"), "--tokenizer", "bytes"});
  EXPECT_THAT(shard.out, AllOf(HasSubstr("llm.c form, 8 tokens, largest id 119"),
                               HasSubstr("begins: twothree")));
}

TEST_F(PrepareCommandTest, JsonIsOneDocument) {
  const Outcome prepared = Data({"prepare", text_, "--out", PathOf("d"), "--tokenizer", "bytes",
                                 "--format", "nanogpt", "--val-fraction", "0", "-o", "json"});
  const json document = json::parse(prepared.out);
  EXPECT_EQ(document["kind"], "Dataset");
  EXPECT_EQ(document["train_tokens"], 16);
  EXPECT_EQ(document["shards"][0]["name"], "train.bin");
  EXPECT_THAT(prepared.err, IsEmpty());
}

TEST_F(PrepareCommandTest, AFinishedDatasetStaysAsItIs) {
  const std::vector<std::string> command = {"prepare",     text_,   "--out",        PathOf("d"),
                                            "--tokenizer", "bytes", "--val-tokens", "3"};
  ASSERT_EQ(Data(command).code, 0);
  const Outcome again = Data(command);
  EXPECT_EQ(again.code, 5);
  EXPECT_THAT(again.err, HasSubstr("holds a finished dataset"));
}

TEST_F(PrepareCommandTest, NamesWhatCannotBePrepared) {
  const auto prepare = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"prepare", "--out", PathOf("d"), "--tokenizer", "bytes"};
    words.insert(words.end(), more.begin(), more.end());
    return Data(words);
  };
  EXPECT_EQ(prepare({PathOf("none.txt")}).code, 3);
  const Outcome json_line = prepare({Text("a.jsonl", "{\"text\": \"x\"}\n{\"t\": 1}\n")});
  EXPECT_EQ(json_line.code, 2);
  EXPECT_THAT(json_line.err, HasSubstr("a.jsonl:2: no field 'text'; the line has t"));
  EXPECT_EQ(prepare({text_, "--val-fraction", "0.1"}).code, 2);
  EXPECT_THAT(Data({"prepare", text_, "--out", PathOf("e"), "--tokenizer", "chars"}).err,
              HasSubstr("data.tokenizer: chars"));
  EXPECT_EQ(Data({"prepare", text_, "--out", PathOf("e"), "--tokenizer", "none.json"}).code, 3);
}

TEST_F(PrepareCommandTest, NullLinesAreSkippedWithACount) {
  const std::string lines = Text("a.jsonl",
                                 "{\"m\": {\"t\": \"one\"}}\n{\"m\": {\"t\": null}}\n"
                                 "{\"m\": null, \"n\": 1e999}\n{\"m\": {\"t\": \"two\"}}\n");
  std::vector<std::string> command = {"prepare",      lines,   "--out",        PathOf("d"),
                                      "--tokenizer",  "bytes", "--text-field", "m.t",
                                      "--val-tokens", "0"};
  EXPECT_THAT(Data(command).err, HasSubstr("a.jsonl:2: field 'm.t' is null"));
  command[3] = PathOf("e");
  command.push_back("--skip-null");
  const Outcome prepared = Data(command);
  EXPECT_EQ(prepared.code, 0) << prepared.err;
  EXPECT_THAT(prepared.out, HasSubstr("documents   2 (2 null lines skipped)"));
  EXPECT_THAT(Data({"inspect", PathOf("e")}).out, HasSubstr("(2 null lines skipped)"));
  const Outcome document = Data({"inspect", PathOf("e"), "-o", "json"});
  EXPECT_EQ(json::parse(document.out)["null_lines"], 2);
}

// Whether lines with null are skipped affects the shards, so it cannot be changed when a
// preparation resumes.
TEST_F(PrepareCommandTest, APreparationGoesOnWithTheSameChoiceAboutNull) {
  const std::string lines = Text("a.jsonl", "{\"text\": \"one\"}\n{\"text\": null}\n");
  const std::vector<std::string> command = {"prepare",     lines,   "--out",        PathOf("d"),
                                            "--tokenizer", "bytes", "--val-tokens", "0"};
  ASSERT_EQ(Data(command).code, 2);
  std::vector<std::string> skipping = command;
  skipping.push_back("--skip-null");
  EXPECT_THAT(Data(skipping).err, HasSubstr("started with another text field"));
}

TEST_F(PrepareCommandTest, DamageIsFoundByVerify) {
  ASSERT_EQ(
      Data({"prepare", text_, "--out", PathOf("d"), "--tokenizer", "bytes", "--val-tokens", "0"})
          .code,
      0);
  const std::string shard = PathOf("d/d_train_000000.bin");
  std::string bytes = *ReadFile(shard);
  bytes.back() ^= 1;
  ASSERT_TRUE(WriteFileAtomically(shard, bytes).ok());
  const Outcome verified = Data({"verify", PathOf("d")});
  EXPECT_EQ(verified.code, 9);
  EXPECT_THAT(verified.err, HasSubstr("d_train_000000.bin has changed since it was written"));
}

TEST_F(PrepareCommandTest, GenerateMakesTheSameTextForTheSameSeed) {
  ASSERT_EQ(Data({"generate", PathOf("a.jsonl"), "--bytes", "40kB"}).code, 0);
  ASSERT_EQ(Data({"generate", PathOf("b.jsonl"), "--bytes", "40kB"}).code, 0);
  EXPECT_EQ(*ReadFile(PathOf("a.jsonl")), *ReadFile(PathOf("b.jsonl")));
  EXPECT_GE(ReadFile(PathOf("a.jsonl"))->size(), 40'000u);
  EXPECT_THAT(Data({"generate", PathOf("a.jsonl"), "--bytes", "40kB"}).err,
              HasSubstr("exists already; --force replaces it"));
  const Outcome prepared = Data({"prepare", PathOf("a.jsonl"), "--out", PathOf("d"), "--tokenizer",
                                 "bytes", "--val-tokens", "100"});
  EXPECT_EQ(prepared.code, 0) << prepared.err;
}

}  // namespace
}  // namespace gp::testing
