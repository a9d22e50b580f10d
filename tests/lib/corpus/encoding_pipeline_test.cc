#include "corpus/encoding_pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "corpus/synthetic_text.h"
#include "lib/base/temporary_directory.h"
#include "lib/corpus/corpus_text.h"
#include "lib/formats/packed_text.h"
#include "tokenizer/byte_tokenizer.h"

namespace gp::corpus {
namespace {

using ::testing::HasSubstr;
using Result = EncodingPipeline::Result;

StatusOr<std::vector<Result>> Results(const std::vector<Source>& sources, int threads,
                                      const CorpusPosition& from = {}) {
  const ByteTokenizer tokenizer;
  const BlockEncoder encoder(tokenizer, {});
  EncodingPipeline pipeline(sources, encoder, {.threads = threads, .from = from});
  std::vector<Result> results;
  while (true) {
    ASSIGN_OR_RETURN(std::optional<Result> result, pipeline.Next());
    if (!result.has_value()) return results;
    results.push_back(std::move(*result));
  }
}

class EncodingPipelineTest : public ::testing::Test {
 protected:
  void Add(const std::string& bytes, TextForm form = TextForm::kText) {
    const std::string name = "source" + std::to_string(sources_.size());
    sources_.push_back(OneSource(Write(directory_.File(name), bytes), form));
  }

  TemporaryDirectory directory_;
  std::vector<Source> sources_;
};

TEST_F(EncodingPipelineTest, KeepsTheOrderOnAnyNumberOfThreads) {
  SyntheticText text(3);
  for (int i = 0; i < 40; ++i) {
    std::string file;
    for (int j = 0; j < 1 + i * i % 23 * 20; ++j) file += text.NextDocument();
    Add(i % 3 == 0 ? formats::Gzip(file) : file);
  }
  std::string expected;
  for (const int threads : {1, 2, 7}) {
    const auto results = Results(sources_, threads);
    ASSERT_TRUE(results.ok()) << results.status();
    std::string tokens;
    for (const Result& result : *results) tokens += result.encoded.tokens;
    if (expected.empty()) expected = tokens;
    EXPECT_TRUE(tokens == expected) << threads;
    EXPECT_EQ(results->back().end, (CorpusPosition{sources_.size(), {}}));
  }
}

TEST_F(EncodingPipelineTest, GoesOnAtTheEndOfAnyResult) {
  SyntheticText text(4);
  for (int i = 0; i < 4; ++i) {
    std::string file;
    while (file.size() < 3 * kBlockBytes) file += text.NextDocument();
    Add(i == 1 ? "" : file);
  }
  const auto results = Results(sources_, 2);
  ASSERT_TRUE(results.ok()) << results.status();
  for (size_t i = 0; i < results->size(); ++i) {
    const auto rest = Results(sources_, 2, (*results)[i].end);
    ASSERT_TRUE(rest.ok());
    ASSERT_EQ(rest->size(), results->size() - i - 1);
    for (size_t j = 0; j < rest->size(); ++j) {
      EXPECT_EQ((*rest)[j].encoded.tokens, (*results)[i + 1 + j].encoded.tokens);
    }
  }
}

TEST_F(EncodingPipelineTest, TheFirstBadPlaceInTheOrderOfTheTextIsTheError) {
  SyntheticText text(5);
  std::string file;
  while (file.size() < 4 * kBlockBytes) file += text.NextDocument();
  Add(file);
  Add("{\"text\": 1}\n", TextForm::kJsonLines);
  Add("not packed", TextForm::kJsonLines);
  Add(formats::Gzip("x").substr(0, 8));
  for (const int threads : {1, 4}) {
    const auto results = Results(sources_, threads);
    EXPECT_THAT(Message(results.status()), HasSubstr(sources_[1].path + ":1: field 'text'"));
  }
}

TEST_F(EncodingPipelineTest, AnEndlessOneBeginsAgainAfterTheLastSource) {
  Add("one ");
  Add("");
  Add("{\"text\": \"two \"}\n", TextForm::kJsonLines);
  const ByteTokenizer tokenizer;
  const BlockEncoder encoder(tokenizer, {});
  EncodingPipeline pipeline(sources_, encoder, {.endless = true});
  std::string text;
  CorpusPosition end;
  while (text.size() < 4 * 8) {
    const auto result = pipeline.Next();
    ASSERT_TRUE(result.ok()) << result.status();
    for (size_t i = 0; i < (*result)->encoded.tokens.size(); i += 2) {
      text += (*result)->encoded.tokens[i];
    }
    end = (*result)->end;
  }
  EXPECT_EQ(text, "one two one two one two one two ");
  EXPECT_EQ(end, (CorpusPosition{12, {}})) << "sources are counted on and on";
}

TEST_F(EncodingPipelineTest, ASourceThatChangesBeforeItsEndIsAnError) {
  Add("as it was");
  sources_[0].modified_ns -= 1;
  EXPECT_THAT(Message(Results(sources_, 1).status()), HasSubstr("was changed while it was read"));
}

TEST_F(EncodingPipelineTest, MayBeLeftBeforeItsEnd) {
  Add(std::string(8 * kBlockBytes, 'a'));
  const ByteTokenizer tokenizer;
  const BlockEncoder encoder(tokenizer, {});
  EncodingPipeline pipeline(sources_, encoder, {.threads = 3});
  EXPECT_TRUE(pipeline.Next()->has_value());
}

}  // namespace
}  // namespace gp::corpus
