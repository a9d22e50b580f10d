#include "worker/data/batch_source.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "plan/batch_ramp.h"
#include "runspec/batch_plan.h"
#include "worker/data/data_fixture.h"

namespace gp::engine {
namespace {

using runspec::BatchOrder;
using ::testing::HasSubstr;

runspec::RunSpec Spec(BatchOrder order, int shards, int64_t accumulation, int64_t rows,
                      int64_t sequence) {
  runspec::RunSpec spec;
  spec.data.order = order;
  spec.resources.workers = shards;
  spec.batch = {.micro_batch = rows,
                .sequence = sequence,
                .total_tokens = shards * accumulation * rows * sequence};
  return spec;
}

std::unique_ptr<TokenSource> Counting(int32_t count) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 0);
  return MakeMemoryTokens(tokens);
}

// The tokens of a whole step, ordered by shard, micro-batch, row and position.
std::vector<int32_t> StepTokens(const BatchSource& source, int64_t step, int shards,
                                int64_t accumulation) {
  std::vector<int32_t> all;
  const auto size = static_cast<size_t>(source.rows() * source.sequence());
  for (int64_t micro_batch = 0; micro_batch < accumulation; ++micro_batch) {
    for (int shard = 0; shard < shards; ++shard) {
      std::vector<int32_t> tokens(size), targets(size);
      EXPECT_TRUE(source.Fill(step, shard, micro_batch, tokens, targets).ok());
      for (size_t i = 0; i < size; ++i) EXPECT_EQ(targets[i], tokens[i] + 1);
      all.insert(all.end(), tokens.begin(), tokens.end());
    }
  }
  return all;
}

TEST(BatchSource, RandomBatchesFollowFromTheKeysAlone) {
  const auto tokens = Counting(10'000);
  runspec::RunSpec spec = Spec(BatchOrder::kRandom, 4, 2, 3, 16);
  const auto plan = *runspec::PlanBatch(spec);
  const auto source = *BatchSource::Make(*tokens, spec, plan);
  EXPECT_EQ(StepTokens(source, 7, 4, 2),
            StepTokens(*BatchSource::Make(*tokens, spec, plan), 7, 4, 2));
  EXPECT_NE(StepTokens(source, 7, 4, 2), StepTokens(source, 8, 4, 2));
  spec.seed = 1338;
  EXPECT_NE(StepTokens(source, 7, 4, 2),
            StepTokens(*BatchSource::Make(*tokens, spec, plan), 7, 4, 2));
}

// 10 cells with 10,000 draws: the chi-square statistic with 9 degrees of freedom exceeds 33.7 for
// one seed in 10,000. A run resumed with a later version must see the same batches, so the numbers
// are fixed; they were computed independently from the definition.
TEST(BatchSource, RandomOffsetsAreTheSameInEveryVersion) {
  const auto tokens = Counting(10'000);
  const runspec::RunSpec spec = Spec(BatchOrder::kRandom, 4, 2, 3, 16);
  const auto source = *BatchSource::Make(*tokens, spec, *runspec::PlanBatch(spec));
  std::vector<int64_t> offsets;
  for (int64_t micro_batch = 0; micro_batch < 2; ++micro_batch) {
    for (int shard = 0; shard < 4; ++shard) {
      for (int64_t row = 0; row < 3; ++row) {
        offsets.push_back(source.RowOffset(7, shard, micro_batch, row));
      }
    }
  }
  EXPECT_THAT(offsets, ::testing::ElementsAre(3538, 2091, 736, 9304, 3633, 5422, 7004, 3903, 9871,
                                              6438, 6599, 3796, 6554, 8545, 4279, 8623, 2609, 5438,
                                              7321, 467, 8965, 3149, 1709, 7464))
      << "seed " << spec.seed;
}

TEST(BatchSource, TheLastSequenceOfTheTextIsDrawnToo) {
  const auto tokens = Counting(16 + 3);
  const runspec::RunSpec spec = Spec(BatchOrder::kRandom, 1, 1, 1, 16);
  const auto source = *BatchSource::Make(*tokens, spec, *runspec::PlanBatch(spec));
  std::set<int64_t> seen;
  for (int64_t step = 0; step < 12; ++step) seen.insert(source.RowOffset(step, 0, 0, 0));
  EXPECT_THAT(seen, ::testing::ElementsAre(0, 1, 2));
}

TEST(BatchSource, RandomOffsetsAreUniformAndStayInside) {
  const auto tokens = Counting(1'017);
  const runspec::RunSpec spec = Spec(BatchOrder::kRandom, 1, 1, 4, 16);
  const auto source = *BatchSource::Make(*tokens, spec, *runspec::PlanBatch(spec));
  std::vector<int> cells(10);
  std::set<int64_t> seen;
  for (int64_t step = 0; step < 2'500; ++step) {
    for (int64_t row = 0; row < 4; ++row) {
      const int64_t offset = source.RowOffset(step, 0, 0, row);
      ASSERT_GE(offset, 0);
      ASSERT_LE(offset, 1'000);
      seen.insert(offset);
      ++cells[static_cast<size_t>(std::min<int64_t>(offset / 100, 9))];
    }
  }
  double chi_square = 0;
  for (const int count : cells) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 33.7) << "seed " << spec.seed;
  EXPECT_GT(seen.size(), 990u);
}

TEST(BatchSource, SequentialStepsReadTheTextInOrder) {
  const auto tokens = Counting(1'000);
  const runspec::RunSpec spec = Spec(BatchOrder::kSequential, 2, 3, 2, 8);
  const auto source = *BatchSource::Make(*tokens, spec, *runspec::PlanBatch(spec));
  const int64_t per_step = 2 * 3 * 2 * 8;
  for (int64_t step = 0; step < 5; ++step) {
    const auto all = StepTokens(source, step, 2, 3);
    ASSERT_EQ(static_cast<int64_t>(all.size()), per_step);
    for (int64_t i = 0; i < per_step; ++i) {
      EXPECT_EQ(all[static_cast<size_t>(i)], step * per_step + i);
    }
  }
}

// While the batch grows, no window is skipped or read twice.
TEST(BatchSource, SequentialStepsOfARampReadTheTextInOrder) {
  const auto tokens = Counting(5'000);
  runspec::RunSpec spec = Spec(BatchOrder::kSequential, 2, 5, 1, 8);
  spec.batch.ramp_from_tokens = 2 * 8;
  spec.batch.ramp_steps = 6;
  const runspec::BatchPlan plan = *runspec::PlanBatch(spec);
  const auto source = *BatchSource::Make(*tokens, spec, plan);
  int32_t next = 0;
  for (int64_t step = 0; step < 12; ++step) {
    for (const int32_t token : StepTokens(source, step, 2, runspec::AccumulationAt(plan, step))) {
      ASSERT_EQ(token, next++) << "step " << step;
    }
    EXPECT_EQ(next, runspec::TokensBefore(plan, step + 1));
  }
}

// The loader of build-nanogpt: W ranks with micro-batch B read strides of B*T*W tokens. 8 shards of
// 1 row see the same tokens as 1 shard of 8 rows.
// The tokens of ten steps from `step` on, of one shard.
std::vector<int32_t> TenSteps(const BatchSource& source, int64_t step, int64_t accumulation) {
  std::vector<int32_t> all;
  for (int64_t i = 0; i < 10; ++i) {
    const auto tokens = StepTokens(source, step + i, 1, accumulation);
    all.insert(all.end(), tokens.begin(), tokens.end());
  }
  return all;
}

// Six steps of two micro-batches, then steps of one or of four.
TEST(BatchSource, GoesOnAfterTheTokensOfOtherBatches) {
  const auto tokens = Counting(10'000);
  const runspec::TrainingStart start{.step = 6, .tokens = 6 * 2 * 3 * 8};
  for (const BatchOrder order : {BatchOrder::kSequential, BatchOrder::kShuffled}) {
    const auto make = [&](int64_t accumulation, const runspec::TrainingStart& from) {
      const runspec::RunSpec spec = Spec(order, 1, accumulation, 3, 8);
      return *BatchSource::Make(*tokens, spec, *runspec::PlanBatch(spec), {}, from);
    };
    const auto undisturbed = TenSteps(make(2, {}), 6, 2);
    EXPECT_EQ(TenSteps(make(2, start), 6, 2), undisturbed);
    const auto shorter = TenSteps(make(1, start), 6, 1);
    EXPECT_EQ(shorter, std::vector(undisturbed.begin(), undisturbed.begin() + 10 * 3 * 8));
    const auto longer = TenSteps(make(4, start), 6, 4);
    EXPECT_EQ(std::vector(longer.begin(), longer.begin() + 20 * 3 * 8), undisturbed);
  }
}

TEST(BatchSource, DoesNotGoOnInsideAMicroBatch) {
  const auto tokens = Counting(10'000);
  const runspec::TrainingStart start{.step = 6, .tokens = 100};
  for (const BatchOrder order : {BatchOrder::kSequential, BatchOrder::kShuffled}) {
    const runspec::RunSpec spec = Spec(order, 1, 1, 3, 8);
    const Status made =
        BatchSource::Make(*tokens, spec, *runspec::PlanBatch(spec), {}, start).status();
    EXPECT_THAT(Message(made),
                HasSubstr("after 100 tokens, which are not a multiple of 1 logical"));
  }
  const runspec::RunSpec random = Spec(BatchOrder::kRandom, 1, 1, 3, 8);
  EXPECT_TRUE(BatchSource::Make(*tokens, random, *runspec::PlanBatch(random), {}, start).ok());
}

TEST(BatchSource, SequentialGlobalBatchDoesNotDependOnHowItIsCut) {
  const auto tokens = Counting(5'000);
  const runspec::RunSpec wide = Spec(BatchOrder::kSequential, 1, 1, 8, 8);
  const runspec::RunSpec cut = Spec(BatchOrder::kSequential, 8, 1, 1, 8);
  const auto a = *BatchSource::Make(*tokens, wide, *runspec::PlanBatch(wide));
  const auto b = *BatchSource::Make(*tokens, cut, *runspec::PlanBatch(cut));
  for (const int64_t step : {0, 1, 60, 77, 78, 200}) {
    EXPECT_EQ(StepTokens(a, step, 1, 1), StepTokens(b, step, 8, 1)) << step;
  }
}

class BatchSourceOverShards : public DataTest {};

TEST_F(BatchSourceOverShards, DropsTheTailOfEachFileAndBeginsAgain) {
  // A stride is 2 rows of 4 tokens, and the last one needs one more token as its target: files of
  // 17, 5 and 25 tokens contain 2, 0 and 3 strides.
  std::vector<formats::TokenShard> shards;
  shards.push_back(*formats::TokenShard::Open(WriteShard("0.bin", 0, 17, 1000)));
  shards.push_back(*formats::TokenShard::Open(WriteShard("1.bin", 100, 5, 1000)));
  shards.push_back(*formats::TokenShard::Open(WriteShard("2.bin", 200, 25, 1000)));
  const auto tokens = MakeShardTokens(std::move(shards), 1000);
  const runspec::RunSpec spec = Spec(BatchOrder::kSequential, 1, 1, 2, 4);
  const auto source = *BatchSource::Make(*tokens, spec, *runspec::PlanBatch(spec));
  const int32_t first[] = {0, 8, 200, 208, 216, 0, 8, 200};
  for (int64_t step = 0; step < 8; ++step) {
    source.Expect(step + 1, 0, 0);
    EXPECT_EQ(StepTokens(source, step, 1, 1)[0], first[step]) << step;
  }
}

TEST(BatchSource, RefusesASplitThatIsTooShort) {
  const auto tokens = Counting(16);
  const runspec::RunSpec random = Spec(BatchOrder::kRandom, 1, 1, 1, 16);
  const auto refused = BatchSource::Make(*tokens, random, *runspec::PlanBatch(random));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(Message(refused.status()), HasSubstr("has 16 tokens"));
  EXPECT_THAT(Message(refused.status()), HasSubstr("= 17"));
  const runspec::RunSpec sequential = Spec(BatchOrder::kSequential, 2, 1, 1, 8);
  EXPECT_FALSE(BatchSource::Make(*tokens, sequential, *runspec::PlanBatch(sequential)).ok());
  EXPECT_TRUE(BatchSource::Make(*Counting(17), sequential, *runspec::PlanBatch(sequential)).ok());
}

// The offsets of all rows of `steps` steps, ordered by step, micro-batch, shard and row.
std::vector<int64_t> Offsets(const BatchSource& source, int64_t steps, int shards,
                             int64_t accumulation) {
  std::vector<int64_t> offsets;
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t micro_batch = 0; micro_batch < accumulation; ++micro_batch) {
      for (int shard = 0; shard < shards; ++shard) {
        for (int64_t row = 0; row < source.rows(); ++row) {
          offsets.push_back(source.RowOffset(step, shard, micro_batch, row));
        }
      }
    }
  }
  return offsets;
}

// 12 windows of 8 tokens: an epoch has three steps of 4 rows.
TEST(BatchSource, AShuffledEpochTakesEveryWindowOnceAndTheNextOneInAnotherOrder) {
  const auto tokens = Counting(12 * 8 + 1);
  const runspec::RunSpec spec = Spec(BatchOrder::kShuffled, 2, 1, 2, 8);
  const auto source = *BatchSource::Make(*tokens, spec, *runspec::PlanBatch(spec));
  const std::vector<int64_t> both = Offsets(source, 6, 2, 1);
  const std::vector<int64_t> first(both.begin(), both.begin() + 12);
  const std::vector<int64_t> second(both.begin() + 12, both.end());
  EXPECT_NE(first, second);
  for (const auto& epoch : {first, second}) {
    const std::set<int64_t> windows(epoch.begin(), epoch.end());
    EXPECT_EQ(windows.size(), 12u);
    for (const int64_t offset : windows) EXPECT_EQ(offset % 8, 0);
  }
}

TEST(BatchSource, AShuffledOrderDoesNotDependOnHowTheBatchIsCut) {
  const auto tokens = Counting(1'000);
  const runspec::RunSpec wide = Spec(BatchOrder::kShuffled, 1, 1, 8, 8);
  const runspec::RunSpec cut = Spec(BatchOrder::kShuffled, 8, 1, 1, 8);
  EXPECT_EQ(Offsets(*BatchSource::Make(*tokens, wide, *runspec::PlanBatch(wide)), 40, 1, 1),
            Offsets(*BatchSource::Make(*tokens, cut, *runspec::PlanBatch(cut)), 40, 8, 1));
}

// Two files with three complete windows each, and one with none; no window crosses a file boundary.
TEST(BatchSource, AShuffledWindowStaysInItsFile) {
  TemporaryDirectory directory;
  std::vector<formats::TokenShard> shards;
  for (const int count : {25, 8, 30}) {
    const std::string path = directory.File("shard" + std::to_string(count));
    const std::vector<int32_t> tokens(static_cast<size_t>(count), 1);
    ASSERT_TRUE(WriteFileAtomically(path, formats::FormatLlmCShard(tokens)).ok());
    shards.push_back(*formats::TokenShard::Open(path));
  }
  const auto tokens = MakeShardTokens(std::move(shards), 2);
  const runspec::RunSpec spec = Spec(BatchOrder::kShuffled, 1, 1, 1, 8);
  const auto source = *BatchSource::Make(*tokens, spec, *runspec::PlanBatch(spec));
  const std::vector<int64_t> offsets = Offsets(source, 6, 1, 1);
  EXPECT_EQ(std::set<int64_t>(offsets.begin(), offsets.end()),
            (std::set<int64_t>{0, 8, 16, 33, 41, 49}));
}

// Three files of 400 tokens: the first file is one entry of the mixture, the other two are another.
class MixedTokens : public TokenSource {
 public:
  int64_t size() const override { return 1200; }
  std::vector<int64_t> parts() const override { return {400, 400, 400}; }
  Status Read(int64_t offset, std::span<int32_t> tokens) const override {
    std::iota(tokens.begin(), tokens.end(), static_cast<int32_t>(offset));
    return OkStatus();
  }
};

runspec::RunSpec MixedSpec(BatchOrder order, int shards = 1, int64_t rows = 4) {
  runspec::RunSpec spec = Spec(order, shards, 1, rows, 8);
  spec.data.train = {"a", "b"};
  spec.data.weights = {1, 3};
  return spec;
}

BatchSource MixedSource(const TokenSource& tokens, const runspec::RunSpec& spec) {
  return *BatchSource::Make(tokens, spec, *runspec::PlanBatch(spec), {1, 2});
}

TEST(BatchSource, AMixtureTakesItsEntriesByTheirWeights) {
  const MixedTokens tokens;
  for (const BatchOrder order : {BatchOrder::kRandom, BatchOrder::kShuffled}) {
    const BatchSource source = MixedSource(tokens, MixedSpec(order));
    int64_t first = 0;
    for (int64_t step = 0; step < 4096; ++step) {
      for (int64_t row = 0; row < 4; ++row) {
        const int64_t offset = source.RowOffset(step, 0, 0, row);
        first += offset < 400;
        EXPECT_TRUE(offset + 8 < 400 || (offset >= 400 && offset + 8 < 1200)) << offset;
      }
    }
    EXPECT_EQ(first, 4096) << "a quarter of the rows";
  }
}

TEST(BatchSource, EveryEntryOfAShuffledMixtureHasPassesOfItsOwn) {
  const MixedTokens tokens;
  const BatchSource source = MixedSource(tokens, MixedSpec(BatchOrder::kShuffled));
  std::map<int64_t, int> seen;  // {offset: count}
  for (int64_t step = 0; step < 1024; ++step) {
    for (int64_t row = 0; row < 4; ++row) ++seen[source.RowOffset(step, 0, 0, row)];
  }
  // A window is 8 tokens and a target, so a file has 49 windows. 1024 rows are drawn from the 49 of
  // the first entry, and 3072 from the 98 of the second.
  ASSERT_EQ(seen.size(), 3 * 49u);
  for (const auto& [offset, times] : seen) {
    const double expected = offset < 400 ? 1024 / 49.0 : 3072 / 98.0;
    EXPECT_LE(std::abs(times - expected), 1) << offset;
  }
}

TEST(BatchSource, AMixtureDoesNotDependOnHowTheBatchIsCut) {
  const MixedTokens tokens;
  const auto wide = MixedSource(tokens, MixedSpec(BatchOrder::kShuffled, 1, 8));
  const auto cut = MixedSource(tokens, MixedSpec(BatchOrder::kShuffled, 8, 1));
  for (const int64_t step : {0, 1, 600, 5000}) {
    EXPECT_EQ(StepTokens(wide, step, 1, 1), StepTokens(cut, step, 8, 1)) << step;
  }
}

TEST(BatchSource, EveryEntryOfAMixtureMustHoldAWindow) {
  const MixedTokens tokens;
  runspec::RunSpec spec = MixedSpec(BatchOrder::kRandom);
  spec.batch.sequence = 500;
  const auto source = BatchSource::Make(tokens, spec, {}, {1, 2});
  EXPECT_THAT(Message(source.status()), HasSubstr("data.train a: the training split has 400"));
}

TEST(BatchSource, AShuffledOrderNeedsAFileWithAWholeWindow) {
  TemporaryDirectory directory;
  std::vector<formats::TokenShard> shards;
  for (int i = 0; i < 2; ++i) {
    const std::string path = directory.File("shard" + std::to_string(i));
    const std::vector<int32_t> tokens(10, 1);
    ASSERT_TRUE(WriteFileAtomically(path, formats::FormatLlmCShard(tokens)).ok());
    shards.push_back(*formats::TokenShard::Open(path));
  }
  const auto tokens = MakeShardTokens(std::move(shards), 2);
  const runspec::RunSpec spec = Spec(BatchOrder::kShuffled, 1, 1, 1, 16);
  EXPECT_THAT(Message(BatchSource::Make(*tokens, spec, *runspec::PlanBatch(spec)).status()),
              HasSubstr("no training file holds the 16 tokens of one sequence, plus 1"));
}

}  // namespace
}  // namespace gp::engine
