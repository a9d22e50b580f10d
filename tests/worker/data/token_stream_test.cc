#include "worker/data/token_stream.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "corpus/block_reader.h"
#include "corpus/preparation.h"
#include "corpus/synthetic_text.h"
#include "lib/formats/packed_text.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/training/byte_pair_trainer.h"
#include "worker/data/data_fixture.h"

namespace gp::engine {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kStep = 50'000;  // tokens read at once, as for one step

class TokenStreamTest : public DataTest {
 protected:
  TokenStreamTest() : tokenizer_(LearnFrom(Documents(1, 50'000))) {}

  static BytePairTokenizer LearnFrom(const std::string& text) {
    PieceCounter counter(1);
    counter.Add(text);
    counter.EndDocument();
    return BytePairTokenizer(TrainBytePairs(*counter.Take(), {.vocabulary = 300}).value());
  }

  static std::string Documents(uint64_t seed, size_t bytes) {
    corpus::SyntheticText made_up(seed);
    std::string text;
    while (text.size() < bytes) text += made_up.NextDocument() + "\n\n";
    return text;
  }

  static std::string JsonLines(uint64_t seed, size_t bytes) {
    corpus::SyntheticText made_up(seed);
    std::string text;
    while (text.size() < bytes) {
      std::string document = made_up.NextDocument();
      std::erase(document, '\n');
      text += "{\"words\": \"" + document + "\"}\n";
    }
    return text;
  }

  // Sources with every kind of file, compression and document format.
  std::vector<corpus::Source> WriteSources() {
    Write("a.txt", Documents(2, 3 * corpus::kBlockBytes));
    Write("b.jsonl.gz", formats::Gzip(JsonLines(3, 2 * corpus::kBlockBytes)));
    Write("c.txt", "");
    Write("d.txt.zst", formats::Zstd(Documents(4, corpus::kBlockBytes)));
    return Sources();
  }

  std::vector<corpus::Source> Sources() { return *corpus::ExpandSources({directory_.path()}); }

  TokenStream Stream(const std::vector<corpus::Source>& sources) {
    return TokenStream(sources, tokenizer_, rules_);
  }

  static std::vector<int32_t> Step(const TokenStream& stream, int64_t step) {
    std::vector<int32_t> tokens(kStep + 1);
    stream.Pass(step * kStep);
    const Status status = stream.Read(step * kStep, tokens);
    EXPECT_TRUE(status.ok()) << status;
    return tokens;
  }

  std::string ErrorOf(const std::vector<corpus::Source>& sources) {
    const TokenStream stream = Stream(sources);
    std::vector<int32_t> tokens(10'000'000);
    const Status status = stream.Read(0, tokens);
    EXPECT_EQ(stream.Read(0, tokens), status) << "what is broken stays so";
    return Message(status);
  }

  const corpus::DocumentRules rules_{.split = corpus::Split::kBlankLine, .field = "words"};
  const BytePairTokenizer tokenizer_;
};

TEST_F(TokenStreamTest, HasTheTokensOfThePreparedShardsAgainAndAgain) {
  corpus::PreparationOptions options{.sources = WriteSources(), .documents = rules_};
  TemporaryDirectory prepared;
  options.directory = prepared.File("shards");
  options.val_tokens = 0;
  const auto dataset = corpus::PrepareDataset(tokenizer_, options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_EQ(dataset->shards.size(), 1u);
  auto shard = formats::TokenShard::Open(JoinPath(options.directory, dataset->shards.front().name));
  std::vector<int32_t> expected(static_cast<size_t>(shard->size()));
  ASSERT_TRUE(shard->Read(0, 300, expected).ok());

  const TokenStream stream = Stream(options.sources);
  for (int pass = 0; pass < 3; ++pass) {
    std::vector<int32_t> tokens(expected.size());
    ASSERT_TRUE(stream.Read(pass * std::ssize(expected), tokens).ok());
    EXPECT_TRUE(tokens == expected) << pass;
  }
}

TEST_F(TokenStreamTest, GoesOnBeforeAnyStepWithTheSameTokens) {
  const auto sources = WriteSources();
  constexpr int64_t kSteps = 60;  // several passes over the data
  std::vector<std::vector<int32_t>> expected;
  std::vector<std::string> positions;
  const TokenStream whole = Stream(sources);
  for (int64_t step = 0; step < kSteps; ++step) {
    expected.push_back(Step(whole, step));
    positions.push_back(FormatStreamPosition(whole.PositionBefore((step + 1) * kStep)));
  }
  for (const int64_t step : {1, 2, 7, 20, 21, 30, 44, 59}) {
    TokenStream resumed = Stream(sources);
    const auto position = ParseStreamPosition(positions[static_cast<size_t>(step - 1)]);
    ASSERT_TRUE(position.ok()) << position.status();
    EXPECT_LE(position->tokens, step * kStep);
    EXPECT_GT(position->tokens, step * kStep - 1'000'000) << "not far before it";
    resumed.ResumeAt(*position);
    EXPECT_EQ(resumed.PositionBefore(step * kStep), *position) << "before anything is read";
    for (int64_t next = step; next < std::min(step + 3, kSteps); ++next) {
      EXPECT_TRUE(Step(resumed, next) == expected[static_cast<size_t>(next)])
          << next << " after " << step;
    }
  }
}

TEST_F(TokenStreamTest, WithoutAPositionItComesToTheSameTokensFromTheFront) {
  const auto sources = WriteSources();
  const TokenStream one = Stream(sources), other = Stream(sources);
  for (int64_t step = 0; step < 9; ++step) Step(one, step);
  EXPECT_TRUE(Step(other, 9) == Step(one, 9));
}

TEST_F(TokenStreamTest, ASourceThatChangedMeanwhileIsAnError) {
  Write("a.txt", Documents(2, corpus::kBlockBytes));
  const auto sources = Sources();
  Write("a.txt", Documents(2, corpus::kBlockBytes) + "more");
  EXPECT_THAT(ErrorOf(sources), HasSubstr("a.txt was changed while it was read"));
}

TEST_F(TokenStreamTest, ASourceThatIsGoneOrCutShortIsAnErrorOfItsName) {
  const std::string path = Write("a.txt", Documents(2, corpus::kBlockBytes));
  const auto sources = Sources();
  std::filesystem::resize_file(path, 1000);
  EXPECT_THAT(ErrorOf(sources), HasSubstr("a.txt was changed while it was read"));
  std::filesystem::remove(path);
  EXPECT_THAT(ErrorOf(sources), HasSubstr("a.txt"));
}

TEST_F(TokenStreamTest, DamageIsAnErrorWithItsPlace) {
  const std::string packed = formats::Gzip(Documents(2, 2 * corpus::kBlockBytes));
  Write("b.txt.gz", packed.substr(0, packed.size() / 2));
  EXPECT_THAT(ErrorOf(Sources()),
              HasSubstr("data.stream: " + directory_.File("b.txt.gz") + " is cut short at byte"));
  Write("a.jsonl", "{\"words\": \"a\"}\n{\"text\": \"a\"}\n");
  EXPECT_THAT(ErrorOf(Sources()), HasSubstr("a.jsonl:2: "));
}

TEST_F(TokenStreamTest, SourcesWithoutTextAreAnErrorAndNoEndlessSearch) {
  Write("a.txt", "");
  EXPECT_THAT(ErrorOf(Sources()), HasSubstr("a.txt holds no text"));
  Write("b.jsonl", "\n\n");
  EXPECT_THAT(ErrorOf(Sources()), HasSubstr("a.txt and the other sources hold no text"));
}

TEST_F(TokenStreamTest, APositionThatIsNoneSaysSo) {
  for (const std::string text :
       {"", "{", "[]", "{}", R"({"source":-1,"byte":0,"line":1,"inside_document":false})",
        R"({"source":0,"byte":0,"line":1,"inside_document":false})"}) {
    const auto position = ParseStreamPosition(text);
    EXPECT_EQ(position.status().code(), StatusCode::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace gp::engine
