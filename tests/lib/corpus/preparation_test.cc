#include "corpus/preparation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "corpus/preparation_state.h"
#include "formats/token_shard.h"
#include "lib/base/temporary_directory.h"
#include "lib/corpus/corpus_text.h"
#include "lib/corpus/prepared_files.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/byte_tokenizer.h"

namespace gp::corpus {
namespace {

using formats::ShardFormat;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int32_t kEnd = 3;

// A tokenizer of the letters a, b and c that cannot encode any other text.
class LetterTokenizer : public Tokenizer {
 public:
  LetterTokenizer() { set_special_tokens({.eos = kEnd}); }
  std::string_view kind() const override { return "letters"; }
  int64_t vocabulary_size() const override { return 4; }
  StatusOr<std::vector<int32_t>> Encode(std::string_view text) const override {
    std::vector<int32_t> tokens;
    for (const char c : text) {
      if (c < 'a' || c > 'c') return InvalidArgument("letter '{}' is unknown", c);
      tokens.push_back(c - 'a');
    }
    return tokens;
  }
  size_t CutAfter(std::string_view text, size_t begin) const override {
    return std::min(std::max<size_t>(begin, 1), text.size());
  }
  std::string Decode(std::span<const int32_t>) const override { return ""; }
  std::string Serialized() const override { return "{}"; }
};

class PreparationTest : public ::testing::Test {
 protected:
  PreparationTest() {
    options_.directory = directory_.File("data");
    options_.documents.split = Split::kLine;
    options_.interval = std::chrono::milliseconds(0);
  }

  void Text(const std::string& text) {
    options_.sources = {OneSource(Write(directory_.File("text"), text))};
  }
  void Corpus() {
    options_.sources = WriteCorpus(directory_.path());
    options_.shard_tokens = 200'000;
  }
  std::vector<int32_t> Tokens(const std::string& name) {
    const auto shard = formats::TokenShard::Open(JoinPath(options_.directory, name));
    EXPECT_TRUE(shard.ok()) << shard.status();
    if (!shard.ok()) return {};
    std::vector<int32_t> tokens(static_cast<size_t>(shard->size()));
    EXPECT_TRUE(shard->Read(0, 1 << 20, tokens).ok());
    return tokens;
  }
  StatusOr<formats::DatasetFile> Prepare() { return PrepareDataset(LetterTokenizer(), options_); }

  TemporaryDirectory directory_;
  PreparationOptions options_;
};

TEST_F(PreparationTest, BuildNanoGptsLayoutHasTheEndBeforeEachDocumentAndCutsAcrossShards) {
  Text("ab\ncab\na\n");
  options_.format = ShardFormat::kNpy;
  options_.shard_tokens = options_.val_tokens.emplace(4);
  const auto dataset = Prepare();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(Tokens("data_val_000000.npy"), ElementsAre(kEnd, 0, 1, kEnd));
  EXPECT_THAT(Tokens("data_train_000001.npy"), ElementsAre(2, 0, 1, kEnd));
  EXPECT_THAT(Tokens("data_train_000002.npy"), ElementsAre(0));
  EXPECT_EQ(dataset->documents, 3);
  EXPECT_EQ(dataset->placement, formats::EndOfTextPlacement::kBefore);
  EXPECT_EQ(FilesOf(options_.directory).size(), 4u);
}

TEST_F(PreparationTest, LlmCsLayoutIsTheSameInItsOwnForm) {
  Text("ab\ncab\na\n");
  options_.shard_tokens = 100;
  options_.val_tokens = 3;
  ASSERT_TRUE(Prepare().ok());
  EXPECT_THAT(Tokens("data_val_000000.bin"), ElementsAre(kEnd, 0, 1));
  EXPECT_THAT(Tokens("data_train_000001.bin"), ElementsAre(kEnd, 2, 0, 1, kEnd, 0));
}

TEST_F(PreparationTest, NanoGptsLayoutHasTheEndAfterEachDocumentAndWholeDocumentsForValidation) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += i % 2 == 0 ? "ab\n" : "c\n";
  Text(text);
  options_.format = ShardFormat::kRaw;
  options_.val_fraction = 0.1;
  ASSERT_TRUE(Prepare().ok());
  const std::vector<int32_t> train = Tokens("train.bin"), val = Tokens("val.bin");
  EXPECT_EQ(train.size() + val.size(), 2500u);
  EXPECT_EQ(train.back(), kEnd);
  EXPECT_EQ(val.back(), kEnd);
  const auto documents = std::count(val.begin(), val.end(), kEnd);
  EXPECT_GT(documents, 60);
  EXPECT_LT(documents, 140);
}

TEST_F(PreparationTest, EmptyDocumentsAreLeftOutAndCounted) {
  options_.documents.field = "text";
  options_.sources = {OneSource(
      Write(directory_.File("a.jsonl"), "{\"text\": \"\"}\n{\"text\": \"ab\"}\n{\"text\": \"\"}\n"),
      TextForm::kJsonLines)};
  options_.val_tokens = 0;
  const auto dataset = Prepare();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(Tokens("data_train_000000.bin"), ElementsAre(kEnd, 0, 1));
  EXPECT_EQ(dataset->empty_documents, 2);
}

TEST_F(PreparationTest, AStringMayDivideDocuments) {
  Text("ab<|>c<|>\n");
  options_.documents = {.split_on = "<|>"};
  options_.val_tokens = 0;
  const auto dataset = Prepare();
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(Tokens("data_train_000000.bin"), ElementsAre(kEnd, 0, 1, kEnd, 2));
  EXPECT_EQ(dataset->empty_documents, 1);
  options_.directory = directory_.File("lines");
  options_.documents.split = Split::kLine;
  EXPECT_THAT(Message(Prepare().status()), HasSubstr("give only one of them"));
}

// The count must not depend on where blocks end or how often the work is saved.
TEST_F(PreparationTest, EndsThatTheTextSpellsAreCounted) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "<|endoftext|>" + std::string(i % 7, 'a');
  Text(text);
  options_.documents = {};
  options_.val_tokens = 0;
  const ByteTokenizer bytes;
  const auto dataset = PrepareDataset(bytes, options_);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->spelled_ends, (formats::SpelledEnds{{"<|endoftext|>", 100'000}}));
  EXPECT_EQ(formats::ReadDatasetFile(options_.directory)->spelled_ends, dataset->spelled_ends);
}

TEST_F(PreparationTest, ShardsDoNotDependOnThreadsNorOnHowOftenTheyWereSaved) {
  const auto tokenizer = BytePairTokenizer::InstalledGpt2();
  if (!tokenizer.ok()) GTEST_SKIP() << tokenizer.status();
  Corpus();
  for (const ShardFormat format : {ShardFormat::kLlmC, ShardFormat::kRaw}) {
    options_.format = format;
    Files expected;
    for (const int threads : {1, 4}) {
      options_.threads = threads;
      options_.interval = std::chrono::milliseconds(threads == 1 ? 0 : 100'000);
      ASSERT_TRUE(RemoveTree(options_.directory).ok());
      ASSERT_TRUE(PrepareDataset(**tokenizer, options_).ok());
      if (expected.empty()) expected = FilesOf(options_.directory);
      EXPECT_TRUE(FilesOf(options_.directory) == expected);
    }
  }
}

TEST_F(PreparationTest, AFullDiskIsAnErrorAndTheSameCallGoesOnOnceThereIsRoom) {
  const auto tokenizer = BytePairTokenizer::InstalledGpt2();
  if (!tokenizer.ok()) GTEST_SKIP() << tokenizer.status();
  Corpus();
  options_.shard_tokens = 2'000'000;
  options_.val_tokens = 1000;
  ASSERT_TRUE(PrepareDataset(**tokenizer, options_).ok());
  const Files expected = FilesOf(options_.directory);
  ASSERT_TRUE(RemoveTree(options_.directory).ok());
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{500'000, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto failed = PrepareDataset(**tokenizer, options_);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_FALSE(failed.ok());
  EXPECT_THAT(Message(failed.status()), HasSubstr("data_train_000001.bin.partial"));
  EXPECT_FALSE(FileExists(JoinPath(options_.directory, "data_train_000001.bin")));
  ASSERT_TRUE(PrepareDataset(**tokenizer, options_).ok());
  EXPECT_TRUE(FilesOf(options_.directory) == expected);
}

TEST_F(PreparationTest, GoesOnWithNothingButWhatItBegan) {
  Text("ab\nx\n");
  options_.val_tokens = 0;
  EXPECT_THAT(Message(Prepare().status()), HasSubstr("letter 'x' is unknown"));
  options_.format = ShardFormat::kNpy;
  const auto other = Prepare();
  EXPECT_EQ(other.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(other.status()), HasSubstr("started with another format: llm.c, now NumPy"));
  options_.format = ShardFormat::kLlmC;
  Text("abc\n");
  EXPECT_THAT(Message(Prepare().status()), HasSubstr("another list of sources"));
}

TEST_F(PreparationTest, TouchesNoFolderThatHoldsSomethingElse) {
  Text("ab\n");
  options_.val_tokens = 0;
  ASSERT_TRUE(Prepare().ok());
  EXPECT_EQ(Prepare().status().code(), StatusCode::kAlreadyExists);
  options_.directory = directory_.path();
  EXPECT_EQ(Prepare().status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(PreparationTest, KeepsATokenOfFortyBytesForValidationUnlessToldOtherwise) {
  struct Case {
    size_t bytes;
    int64_t val_tokens;
  };
  for (const Case& c : {Case{4000, 100}, Case{100'000, 1000}, Case{79, 0}}) {
    Text(std::string(c.bytes - 1, 'a') + "\n");
    options_.shard_tokens = 1000;
    const auto dataset = Prepare();
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ(dataset->Tokens("val"), c.val_tokens) << c.bytes;
    ASSERT_TRUE(RemoveTree(options_.directory).ok());
  }
}

TEST_F(PreparationTest, SaysWhenNothingIsLeftToTrainOn) {
  Text("ab\n");
  options_.val_tokens = 100;
  EXPECT_THAT(Message(Prepare().status()), HasSubstr("all 3 tokens went to validation"));
  ASSERT_TRUE(RemoveTree(options_.directory).ok());
  Text("\n\n");
  EXPECT_THAT(Message(Prepare().status()), HasSubstr("contain no text"));
}

TEST_F(PreparationTest, StopsBetweenBlocksAndGoesOn) {
  const auto tokenizer = BytePairTokenizer::InstalledGpt2();
  if (!tokenizer.ok()) GTEST_SKIP() << tokenizer.status();
  Corpus();
  ASSERT_TRUE(PrepareDataset(**tokenizer, options_).ok());
  const Files expected = FilesOf(options_.directory);
  ASSERT_TRUE(RemoveTree(options_.directory).ok());
  std::stop_source stop;
  const auto report = [&stop](const PreparationProgress& progress) {
    EXPECT_LE(progress.source_bytes, progress.source_bytes_total);
    if (progress.text_bytes > static_cast<int64_t>(2 * kBlockBytes)) stop.request_stop();
  };
  const auto stopped = PrepareDataset(**tokenizer, options_, report, stop.get_token());
  EXPECT_EQ(stopped.status().code(), StatusCode::kCancelled);
  ASSERT_TRUE(PrepareDataset(**tokenizer, options_).ok());
  EXPECT_TRUE(FilesOf(options_.directory) == expected);
}

TEST(PreparationState, EveryTruncationIsRefused) {
  PreparationState state{.choices = {{"format", "npy"}},
                         .position = {2, {100, 5, true}},
                         .finished = {{"a", "val", 3, "00"}},
                         .open = {{"b", "train", 7}},
                         .documents = 9};
  const std::string text = FormatPreparationState(state);
  const auto parsed = ParsePreparationState(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(FormatPreparationState(*parsed), text);
  for (size_t size = 0; size + 2 < text.size(); ++size) {
    EXPECT_EQ(ParsePreparationState(text.substr(0, size)).status().code(), StatusCode::kDataLoss);
  }
}

}  // namespace
}  // namespace gp::corpus
