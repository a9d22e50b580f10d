// Goal: cached attention equals attention over the whole sequence, however its tokens are split
// into calls, and the bits of a row do not depend on the rest of the batch.
#include "worker/engine/backend/cuda/kernels/attention/cached_attention.h"

#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/cuda/kernels/attention_reference.h"

namespace gp::engine {
namespace {

class CachedAttentionKernel : public DeviceTest {};

constexpr int64_t kSlots = 70;  // more than one launch handles
constexpr int64_t kHeads = 2;

// A cache and the rows of one sequence, which can be fed in any portions and into any slot.
class Sampler {
 public:
  Sampler(int64_t length, int64_t head_size, DataType type, int64_t slots = kSlots)
      : length_(length), head_size_(head_size), type_(type), slots_(slots) {}

  // Feeds tokens [position, position + count) and stores the output. `others` more sequences of one
  // token each, with other values, are in the same call.
  void Feed(int64_t position, int64_t count, int64_t slot, int64_t others) {
    std::vector<float> rows = NormalValues((count + others) * 3 * Channels(), 9);
    std::vector<CacheRows> sequences;
    for (int64_t i = 0; i < others; ++i) {
      sequences.push_back({i, 1, i < slot ? i : i + 1, 0});
    }
    sequences.push_back({others, count, slot, position});
    const std::vector<float> values = qkv_.Get();
    std::copy_n(values.begin() + position * 3 * Channels(), count * 3 * Channels(),
                rows.begin() + others * 3 * Channels());
    const DeviceArray qkv(rows, type_);
    const DeviceArray out = Unwritten((count + others) * Channels(), type_);
    LaunchCachedAttention({.heads = kHeads,
                           .head_size = head_size_,
                           .out = out.buffer(),
                           .qkv = qkv.buffer(),
                           .cache = {keys_.buffer(), values_.buffer(), Capacity()},
                           .sequences = sequences},
                          nullptr);
    const std::vector<float> results = out.Get();
    results_.insert(results_.end(), results.begin() + others * Channels(), results.end());
  }

  // Feeds the token at `position` as a row in device memory, beside rows of padding; `shared`:
  // several blocks share its keys.
  void FeedRow(int64_t position, int64_t slot, bool shared) {
    constexpr int64_t kRows = 3;
    std::vector<float> rows = NormalValues(kRows * 3 * Channels(), 9);
    const std::vector<float> values = qkv_.Get();
    std::copy_n(values.begin() + position * 3 * Channels(), 3 * Channels(),
                rows.begin() + 3 * Channels());
    const DeviceArray qkv(rows, type_);
    const DeviceArray out(NormalValues(kRows * Channels(), 8), type_);
    const DeviceValues<int32_t> slots({-1, static_cast<int32_t>(slot), -1});
    const DeviceValues<int32_t> positions({0, static_cast<int32_t>(position), 0});
    const CachedAttention args{.heads = kHeads,
                               .head_size = head_size_,
                               .out = out.buffer(),
                               .qkv = qkv.buffer(),
                               .cache = {keys_.buffer(), values_.buffer(), Capacity()}};
    const DeviceArray parts = Unwritten(CachedAttentionScratch(args, kRows), DataType::kFloat32);
    LaunchCachedAttention(args,
                          {.rows = kRows, .slots = slots.data(), .positions = positions.data()},
                          shared ? parts.f32() : nullptr, nullptr);
    const std::vector<float> results = out.Get();
    results_.insert(results_.end(), results.begin() + Channels(), results.begin() + 2 * Channels());
  }

  const std::vector<float>& results() const { return results_; }

  void ExpectEqualsPlain() const {
    const KeyedDropout none(Dropout{}, false);
    PlainAttention plain({1, length_, kHeads, head_size_}, qkv_, none);
    plain.Run(Unwritten(length_ * Channels(), type_));
    for (size_t i = 0; i < results_.size(); ++i) {
      ASSERT_NEAR(results_[i], plain.out[i], DeviceTolerance(type_, plain.out[i])) << i;
    }
  }

 private:
  int64_t Channels() const { return kHeads * head_size_; }
  int64_t Capacity() const { return (length_ + 63) / 64 * 64; }
  int64_t CacheSize() const { return slots_ * Capacity() * Channels(); }

  int64_t length_;
  int64_t head_size_;
  DataType type_;
  int64_t slots_;
  DeviceArray qkv_{NormalValues(length_ * 3 * Channels(), 1), type_};
  DeviceArray keys_ = Unwritten(CacheSize(), type_);
  DeviceArray values_ = Unwritten(CacheSize(), type_);
  std::vector<float> results_;
};

TEST_F(CachedAttentionKernel, EqualsTheWholeSequence) {
  for (const DataType type : kDataTypes) {
    for (const int64_t head_size : {1, 11, 24, 64}) {
      SCOPED_TRACE(testing::Message()
                   << "head size " << head_size << ", type " << static_cast<int>(type));
      Sampler sampler(40, head_size, type);
      sampler.Feed(0, 37, 3, 0);
      for (int64_t position = 37; position < 40; ++position) sampler.Feed(position, 1, 3, 0);
      sampler.ExpectEqualsPlain();
    }
  }
}

// Sequences longer than a chunk of keys; the largest head sizes, one of which is not a multiple of
// a vector.
TEST_F(CachedAttentionKernel, EqualsTheWholeSequenceBeyondAChunk) {
  for (const int64_t head_size : {250, 256}) {
    Sampler sampler(260, head_size, DataType::kFloat32);
    sampler.Feed(0, 258, 0, 0);
    sampler.Feed(258, 2, 0, 0);
    sampler.ExpectEqualsPlain();
  }
}

TEST_F(CachedAttentionKernel, GivesARowTheSameBitsInEveryBatch) {
  Sampler alone(9, 16, DataType::kBfloat16);
  alone.Feed(0, 9, 0, 0);
  for (const int64_t others : {1, 5, 68}) {
    Sampler among(9, 16, DataType::kBfloat16);
    among.Feed(0, 4, others, others);
    among.Feed(4, 1, others, others);
    among.Feed(5, 4, others, 0);
    EXPECT_EQ(among.results(), alone.results()) << others;
  }
}

// Where the row's place comes from and how many blocks compute it decide no bit; padding changes no
// cache.
TEST_F(CachedAttentionKernel, GivesARowInDeviceMemoryTheSameBits) {
  struct {
    DataType type;
    int64_t head_size;
  } const cases[] = {
      {DataType::kFloat32, 11}, {DataType::kBfloat16, 64}, {DataType::kFloat32, 136}};
  for (const auto& [type, head_size] : cases) {
    Sampler in_one(522, head_size, type, 3), by_row(522, head_size, type, 3);
    Sampler shared(522, head_size, type, 3);
    for (Sampler* each : {&in_one, &by_row, &shared}) each->Feed(0, 254, 2, 0);
    for (const int64_t position : {254, 255, 256}) {
      in_one.Feed(position, 1, 2, 0);
      by_row.FeedRow(position, 2, false);
      shared.FeedRow(position, 2, true);
    }
    for (Sampler* each : {&in_one, &by_row, &shared}) each->Feed(257, 264, 2, 0);
    in_one.Feed(521, 1, 2, 0);
    by_row.FeedRow(521, 2, false);
    shared.FeedRow(521, 2, true);
    EXPECT_EQ(by_row.results(), in_one.results()) << head_size;
    EXPECT_EQ(shared.results(), in_one.results()) << head_size;
    in_one.ExpectEqualsPlain();
  }
}

TEST_F(CachedAttentionKernel, SaysWhichHeadSizesItTakes) {
  EXPECT_THROW(LaunchCachedAttention({.heads = 1, .head_size = 257}, nullptr),
               std::invalid_argument);
}

}  // namespace
}  // namespace gp::engine
