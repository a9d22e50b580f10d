// A text, and the same text prepared into shards of each published layout, give a run the same
// batches. The training results depend on the batches only.
#include <gtest/gtest.h>

#include "corpus/preparation.h"
#include "corpus/synthetic_text.h"
#include "runspec/batch_plan.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/data/data_tokenizer.h"
#include "worker/data/batch_source.h"
#include "worker/data/data_fixture.h"
#include "worker/data/dataset.h"
#include "worker/data/validation_windows.h"

namespace gp::engine {
namespace {

using formats::ShardFormat;

runspec::RunSpec DataRun(runspec::BatchOrder order, const std::string& tokenizer) {
  runspec::RunSpec spec;
  spec.data.order = order;
  spec.data.tokenizer = tokenizer;
  spec.vocabulary_auto = true;
  spec.resources.workers = 4;
  spec.batch = {.micro_batch = 3, .sequence = 16, .total_tokens = 4 * 2 * 3 * 16};
  return spec;
}

// The tokens and targets of twenty training steps and of the validation split.
std::vector<int32_t> BatchesOf(const Dataset& dataset, const runspec::RunSpec& spec) {
  const auto plan = *runspec::PlanBatch(spec);
  const auto source = BatchSource::Make(*dataset.train, spec, plan);
  EXPECT_TRUE(source.ok()) << source.status();
  std::vector<int32_t> all, tokens(3 * 16), targets(3 * 16);
  const auto add = [&] {
    all.insert(all.end(), tokens.begin(), tokens.end());
    all.insert(all.end(), targets.begin(), targets.end());
  };
  for (int64_t step = 0; step < 20; ++step) {
    for (int shard = 0; shard < plan.logical_shards; ++shard) {
      for (int64_t micro_batch = 0; micro_batch < plan.accumulation; ++micro_batch) {
        EXPECT_TRUE(source->Fill(step, shard, micro_batch, tokens, targets).ok());
        add();
      }
    }
  }
  const auto windows = *ValidationWindows::Make(*dataset.validation, 3, 16, 0);
  for (int64_t i = 0; i < windows.batch_count(); ++i) {
    EXPECT_TRUE(windows.Fill(i, tokens, targets).ok());
    add();
  }
  return all;
}

class PreparedDataTest : public DataTest {
 protected:
  // Prepares `text` in this layout; returns the path of the only shard.
  std::string Prepare(const Tokenizer& tokenizer, const std::string& text, ShardFormat format) {
    corpus::PreparationOptions options{.format = format};
    options.directory = directory_.File("prepared" + std::to_string(prepared_++));
    options.sources = *corpus::ExpandSources({Write("part.txt", text)});
    if (format == ShardFormat::kRaw) {
      options.val_fraction = 0;
    } else {
      options.val_tokens = 0;
    }
    const auto dataset = corpus::PrepareDataset(tokenizer, options);
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return JoinPath(options.directory, dataset->shards.front().name);
  }

 private:
  int prepared_ = 0;
};

TEST_F(PreparedDataTest, EveryLayoutGivesTheBatchesOfTheTextItWasMadeFrom) {
  corpus::SyntheticText made_up(5);
  std::string text;
  while (text.size() < 20'000) text += made_up.NextDocument() + "\n";
  const size_t cut = text.size() * 9 / 10;  // by bytes, as data.val_fraction: 0.1 splits
  const auto bytes = MakeTextTokenizer("bytes", "");
  for (const auto order : {runspec::BatchOrder::kRandom, runspec::BatchOrder::kSequential,
                           runspec::BatchOrder::kShuffled}) {
    runspec::RunSpec from_text = DataRun(order, "bytes");
    from_text.data.text = {Write("text.txt", text)};
    from_text.data.val_fraction = 0.1;
    const auto expected = BatchesOf(*OpenDataset(from_text), from_text);
    for (const auto format : {ShardFormat::kLlmC, ShardFormat::kNpy, ShardFormat::kRaw}) {
      runspec::RunSpec from_shards = DataRun(order, "bytes");
      from_shards.data.train = {Prepare(**bytes, text.substr(0, cut), format)};
      from_shards.data.val = {Prepare(**bytes, text.substr(cut), format)};
      const auto dataset = OpenDataset(from_shards);
      ASSERT_TRUE(dataset.ok()) << dataset.status();
      EXPECT_TRUE(BatchesOf(*dataset, from_shards) == expected)
          << formats::ShardFormatName(format) << ", order " << static_cast<int>(order);
    }
  }
}

TEST_F(PreparedDataTest, ARunWithAnotherTokenizerIsRefused) {
  const auto bytes = MakeTextTokenizer("bytes", "");
  const auto gpt2 = BytePairTokenizer::InstalledGpt2();
  if (!gpt2.ok()) GTEST_SKIP() << gpt2.status();
  runspec::RunSpec spec = DataRun(runspec::BatchOrder::kRandom, "gpt2");
  spec.data.train = {Prepare(**bytes, std::string(1000, 'a'), ShardFormat::kLlmC)};
  const auto dataset = OpenDataset(spec);
  EXPECT_EQ(dataset.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(Message(dataset.status()).find("set data.tokenizer: bytes"), std::string::npos);
}

}  // namespace
}  // namespace gp::engine
