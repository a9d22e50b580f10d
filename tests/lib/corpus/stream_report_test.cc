#include "corpus/stream_report.h"

#include <gmock/gmock.h>

#include "corpus/synthetic_text.h"
#include "lib/base/temporary_directory.h"
#include "lib/corpus/corpus_text.h"

namespace gp::corpus {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StreamReportTest : public ::testing::Test {
 protected:
  runspec::RunSpec SpecOf(const std::vector<std::string>& stream) {
    runspec::RunSpec spec;
    spec.data.stream = stream;
    spec.data.tokenizer = "bytes";
    return spec;
  }

  std::string ErrorOf(const runspec::RunSpec& spec) {
    const auto report = InspectStream(spec);
    EXPECT_FALSE(report.ok());
    return Message(report.status());
  }

  TemporaryDirectory directory_;
};

TEST_F(StreamReportTest, CountsTheTokensOfLittleText) {
  runspec::RunSpec spec = SpecOf({Write(directory_.File("a.txt"), "12345"),
                                  Write(directory_.File("b.jsonl"), "{\"text\": \"1234\"}\n")});
  spec.data.val = {Write(directory_.File("v.txt"), "123")};
  const auto report = InspectStream(spec);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->train_files, 2);
  EXPECT_EQ(report->train_tokens, 9);
  EXPECT_EQ(report->validation_tokens, 3);
  EXPECT_FALSE(report->estimated);
  EXPECT_EQ(report->vocabulary, 256);
}

TEST_F(StreamReportTest, EndsThatTheTextSpellsAreSaid) {
  runspec::RunSpec spec = SpecOf({Write(directory_.File("a.txt"), "12<|endoftext|>34")});
  const auto report = InspectStream(spec);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->warnings.size(), 1u);
  EXPECT_THAT(report->warnings[0], HasSubstr("data.stream contains <|endoftext|> once"));
  spec.data.split_on = "<|endoftext|>";
  EXPECT_EQ(InspectStream(spec)->train_tokens, 4);
  EXPECT_TRUE(InspectStream(spec)->warnings.empty());
}

TEST_F(StreamReportTest, AStringThatDividesNothingIsSaid) {
  runspec::RunSpec spec = SpecOf({Write(directory_.File("a.txt"), "12<|endoftext|>34"),
                                  Write(directory_.File("b.txt"), "56")});
  spec.data.split_on = "<|endoftext>";
  EXPECT_THAT(InspectStream(spec)->warnings,
              Contains(HasSubstr("'<|endoftext>' (data.split_on) occurs in no file")));
  spec.data.split_on = "<|endoftext|>";
  EXPECT_TRUE(InspectStream(spec)->warnings.empty());
  spec.data.split_on = "<|endoftext>";
  spec.data.stream.push_back(Write(directory_.File("c.jsonl"), "{\"text\": \"1\"}\n"));
  EXPECT_EQ(InspectStream(spec)->warnings.size(), 1u);
}

TEST_F(StreamReportTest, AFileThatIsLearnedAndValidatedIsSaid) {
  const std::string text = Write(directory_.File("a.txt"), "1234");
  runspec::RunSpec spec = SpecOf({text, Write(directory_.File("b.txt"), "56")});
  spec.data.val = {text};
  EXPECT_THAT(InspectStream(spec)->warnings,
              ElementsAre(HasSubstr("data.val names " + text + ", which data.stream names, too")));
}

TEST_F(StreamReportTest, WhatAFolderHoldsBesidesIsSaid) {
  ASSERT_TRUE(MakeDirectories(directory_.File("d")).ok());
  Write(directory_.File("d/a.txt"), "1234");
  Write(directory_.File("d/b.parquet"), "PAR1");
  EXPECT_THAT(InspectStream(SpecOf({directory_.File("d")}))->warnings,
              ElementsAre(AllOf(HasSubstr("data.stream: "), HasSubstr("skipped 1 of 2 files"))));
}

TEST_F(StreamReportTest, ValidationNeedsATokenToReadAndOneToPredict) {
  runspec::RunSpec spec = SpecOf({Write(directory_.File("a.txt"), "text")});
  spec.data.val = {Write(directory_.File("v.txt"), "x")};
  EXPECT_THAT(ErrorOf(spec), HasSubstr("data.val: the files hold 1 token, expected at least 2"));
}

TEST_F(StreamReportTest, EstimatesTheTokensOfMuchTextFromItsBeginning) {
  SyntheticText made_up(1);
  std::string text;
  while (text.size() < 20 * kBlockBytes) text += made_up.NextDocument();
  const auto report =
      InspectStream(SpecOf({Write(directory_.File("a.txt"), text)}), {.encoded_bytes = 1 << 20});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->estimated);
  // Every byte is one token; the estimate may differ by rounding.
  EXPECT_NEAR(static_cast<double>(report->train_tokens), static_cast<double>(text.size()), 2);
}

TEST_F(StreamReportTest, ProblemsNameTheKeyAndTheFile) {
  EXPECT_THAT(ErrorOf(SpecOf({directory_.File("absent")})),
              HasSubstr("data.stream: " + directory_.File("absent") + " does not exist"));
  EXPECT_THAT(ErrorOf(SpecOf({Write(directory_.File("a.txt"), "")})), HasSubstr("holds no text"));
  EXPECT_THAT(ErrorOf(SpecOf({Write(directory_.File("a.jsonl"), "{}\n")})),
              HasSubstr("a.jsonl:1: "));
  runspec::RunSpec spec = SpecOf({Write(directory_.File("a.txt"), "text")});
  spec.data.val = {directory_.File("absent")};
  EXPECT_THAT(ErrorOf(spec), HasSubstr("data.val: "));
}

}  // namespace
}  // namespace gp::corpus
