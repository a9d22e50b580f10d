#include "worker/data/batch_reader.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>

#include "lib/base/eventually.h"
#include "runspec/batch_plan.h"

namespace gp::engine {
namespace {

using runspec::BatchOrder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kPatience{30};

// A source in which the token at each offset is the offset itself. Records the reads; one offset
// cannot be read.
class RecordedTokens : public TokenSource {
 public:
  explicit RecordedTokens(int64_t size, int64_t broken = -1) : size_(size), broken_(broken) {}

  int64_t size() const override { return size_; }
  std::vector<int64_t> parts() const override { return {size_}; }

  Status Read(int64_t offset, std::span<int32_t> tokens) const override {
    for (int32_t& token : tokens) token = static_cast<int32_t>(offset++);
    MutexLock lock(mutex_);
    furthest_ = std::max(furthest_, offset);
    changed_.NotifyAll();
    if (broken_ >= 0 && offset > broken_) return InvalidArgument("token {} is broken", broken_);
    return OkStatus();
  }

  void Pass(int64_t offset) const override {
    MutexLock lock(mutex_);
    if (passed_.empty() || passed_.back() != offset) passed_.push_back(offset);
  }

  // Waits until every token before `offset` was read; false after kPatience.
  bool AwaitRead(int64_t offset) const {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    MutexLock lock(mutex_);
    while (furthest_ < offset) {
      if (!changed_.WaitUntil(mutex_, deadline)) return false;
    }
    return true;
  }

  std::vector<int64_t> passed() const {
    MutexLock lock(mutex_);
    return passed_;
  }

 private:
  const int64_t size_;
  const int64_t broken_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  mutable int64_t furthest_ GUARDED_BY(mutex_) = 0;
  mutable std::vector<int64_t> passed_ GUARDED_BY(mutex_);
};

// A run file with this number of logical shards and micro-batches of 2 rows of 4 tokens.
runspec::RunSpec Spec(BatchOrder order, int shards, int64_t accumulation) {
  runspec::RunSpec spec;
  spec.data.order = order;
  spec.resources.workers = shards;
  spec.batch = {.micro_batch = 2, .sequence = 4, .total_tokens = shards * accumulation * 8};
  return spec;
}

struct Rows {
  std::vector<int32_t> tokens = std::vector<int32_t>(8);
  std::vector<int32_t> targets = std::vector<int32_t>(8);

  bool operator==(const Rows&) const = default;
};

Rows Taken(BatchReader& reader, int64_t step, int shard, int64_t micro_batch) {
  Rows rows;
  const Status status = reader.Read(step, shard, micro_batch, rows.tokens, rows.targets);
  EXPECT_TRUE(status.ok()) << status;
  return rows;
}

Rows Filled(const BatchSource& source, int64_t step, int shard, int64_t micro_batch) {
  Rows rows;
  EXPECT_TRUE(source.Fill(step, shard, micro_batch, rows.tokens, rows.targets).ok());
  return rows;
}

TEST(BatchReader, GivesEveryBatchOfARankAsTheSourceDoes) {
  const RecordedTokens tokens(10'000);
  for (const BatchOrder order :
       {BatchOrder::kRandom, BatchOrder::kSequential, BatchOrder::kShuffled}) {
    const runspec::RunSpec spec = Spec(order, 4, 3);
    runspec::BatchPlan plan = *runspec::PlanBatch(spec);
    plan.ramp_accumulation = 1;
    plan.ramp_steps = 4;
    const auto source = *BatchSource::Make(tokens, spec, plan);
    BatchReader reader(source, plan, 2, 2);
    for (int64_t step = 5; step < 20; ++step) {
      for (int shard = 2; shard < 4; ++shard) {
        for (int64_t micro_batch = 0; micro_batch < 3; ++micro_batch) {
          EXPECT_EQ(Taken(reader, step, shard, micro_batch),
                    Filled(source, step, shard, micro_batch));
        }
      }
    }
    EXPECT_EQ(Taken(reader, 2, 3, 1), Filled(source, 2, 3, 1)) << "not the one that was expected";
  }
}

TEST(BatchReader, ReadsTheNextBatchWhileNobodyAsks) {
  const RecordedTokens tokens(10'000);
  const runspec::RunSpec spec = Spec(BatchOrder::kSequential, 2, 2);
  const auto plan = *runspec::PlanBatch(spec);
  const auto source = *BatchSource::Make(tokens, spec, plan);
  BatchReader reader(source, plan, 0, 2);
  Taken(reader, 0, 0, 0);
  EXPECT_TRUE(tokens.AwaitRead(source.RowOffset(0, 0, 1, 1) + 5)) << "the next micro-batch";
  Taken(reader, 0, 0, 1);
  Taken(reader, 0, 1, 0);
  Taken(reader, 0, 1, 1);
  EXPECT_TRUE(tokens.AwaitRead(source.RowOffset(1, 0, 0, 1) + 5)) << "the next step";
}

TEST(BatchReader, CountsWhatItReadAndWhetherTheCallerHadToWait) {
  const RecordedTokens tokens(10'000);
  const runspec::RunSpec spec = Spec(BatchOrder::kSequential, 1, 1);
  const auto plan = *runspec::PlanBatch(spec);
  const auto source = *BatchSource::Make(tokens, spec, plan);
  // Bytes that the source reads for one micro-batch: its tokens have two bytes each.
  const int64_t bytes = source.rows() * (source.sequence() + 1) * 2;
  int64_t read = 0;
  {
    BatchReader reader(source, plan, 0, 1);
    EXPECT_EQ(reader.TakeCounts().bytes, 0);
    Taken(reader, 0, 0, 0);
    const ReaderCounts first = reader.TakeCounts();
    EXPECT_EQ(first.batches_ready, 0) << "nothing was read ahead";
    read += first.bytes;
    Taken(reader, 7, 0, 0);
    const ReaderCounts other = reader.TakeCounts();
    EXPECT_EQ(other.batches_ready, 0) << "not the one that was read ahead";
    read += other.bytes;
    Taken(reader, 8, 0, 0);
    Taken(reader, 20, 0, 0);
    read += reader.TakeCounts().bytes;
  }
  EXPECT_GE(read, 6 * bytes);
  EXPECT_EQ(read % bytes, 0);
}

TEST(BatchReader, ABatchThatIsReadInTimeIsReady) {
  const RecordedTokens tokens(10'000);
  const runspec::RunSpec spec = Spec(BatchOrder::kSequential, 1, 1);
  const auto plan = *runspec::PlanBatch(spec);
  const auto source = *BatchSource::Make(tokens, spec, plan);
  BatchReader reader(source, plan, 0, 1);
  int64_t step = 0;
  // The reader's thread finishes a read some time after its last token.
  EXPECT_TRUE(Eventually([&] {
    reader.TakeCounts();
    Taken(reader, step++, 0, 0);
    return reader.TakeCounts().batches_ready == 1;
  }));
}

// The checkpoint after a step stores the position at which the next step begins.
TEST(BatchReader, PassesTheTokensOfAStepOnlyWhenTheNextOneIsTaken) {
  const RecordedTokens tokens(10'000);
  const runspec::RunSpec spec = Spec(BatchOrder::kSequential, 1, 1);
  const auto plan = *runspec::PlanBatch(spec);
  const auto source = *BatchSource::Make(tokens, spec, plan);
  BatchReader reader(source, plan, 0, 1);
  Taken(reader, 0, 0, 0);
  ASSERT_TRUE(tokens.AwaitRead(source.RowOffset(1, 0, 0, 1) + 5));
  EXPECT_THAT(tokens.passed(), ElementsAre(0));
  Taken(reader, 1, 0, 0);
  EXPECT_THAT(tokens.passed(), ElementsAre(0, 8));
}

TEST(BatchReader, AnErrorBelongsToTheBatchThatHasIt) {
  const RecordedTokens tokens(10'000, /*broken=*/9);
  const runspec::RunSpec spec = Spec(BatchOrder::kSequential, 1, 1);
  const auto plan = *runspec::PlanBatch(spec);
  const auto source = *BatchSource::Make(tokens, spec, plan);
  BatchReader reader(source, plan, 0, 1);
  Taken(reader, 0, 0, 0);
  ASSERT_TRUE(tokens.AwaitRead(10));
  Rows rows;
  EXPECT_THAT(Message(reader.Read(1, 0, 0, rows.tokens, rows.targets)),
              HasSubstr("token 9 is broken"));
  EXPECT_EQ(Taken(reader, 0, 0, 0), Filled(source, 0, 0, 0)) << "the error is over";
}

}  // namespace
}  // namespace gp::engine
