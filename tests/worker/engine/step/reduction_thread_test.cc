// Goal: the thread that reduces a gradient while the last pass still writes it reads only final
// values, and all of them. Uses no model, so that ThreadSanitizer can check it.
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "worker/engine/backend/cpu/cpu_backend.h"
#include "worker/engine/collectives/local_communicator.h"
#include "worker/engine/collectives/rank_threads.h"
#include "worker/engine/fakes/overlapping_communicator.h"
#include "worker/engine/step/gradient_reduction.h"

namespace gp::engine {
namespace {

constexpr int kShards = 4;
constexpr int kSteps = 3;
constexpr int64_t kSize = 100;

// Integers, whose sums are exact in any order.
float Gradient(int step, int shard, int64_t i) {
  return static_cast<float>((step * kShards + shard) * kSize + i);
}

float Sum(int step, int64_t i) {
  float sum = 0;
  for (int shard = 0; shard < kShards; ++shard) sum += Gradient(step, shard, i);
  return sum;
}

// Writes from end to beginning, as a backward pass does, and announces each range once it is final.
void WriteBackward(int step, int shard, std::span<float> gradient, const GradientReady& ready) {
  constexpr int64_t kRange = 10;
  for (int64_t first = kSize - kRange; first >= 0; first -= kRange) {
    for (int64_t i = first; i < first + kRange; ++i) {
      gradient[static_cast<size_t>(i)] = Gradient(step, shard, i);
    }
    if (ready) ready(first, first + kRange);
  }
}

void TakeSteps(Communicator& communicator) {
  const auto backend = MakeCpuBackend({.threads = 1});
  std::deque<std::vector<float>> memory;
  const auto owned = OwnedShards(kShards, communicator.rank(), communicator.size());
  ShardSum shard_sum(owned, [&] { return std::span<float>(memory.emplace_back(kSize)); });
  for (int step = 0; step < kSteps; ++step) {
    GradientReduction reduction(communicator, *backend, shard_sum, {0, kSize}, SystemClock());
    for (int i = 0; i < owned.count; ++i) {
      const std::span<float> gradient = shard_sum.Next();
      const bool last = i + 1 == owned.count;
      WriteBackward(step, owned.first + i, gradient,
                    last ? reduction.BeginLastPass() : GradientReady());
      reduction.FinishShard();
    }
    const std::span<float> sum = reduction.Finish();
    for (int64_t i = 0; i < kSize; ++i) ASSERT_EQ(sum[static_cast<size_t>(i)], Sum(step, i));
  }
}

TEST(ReductionThread, SumsWhatIsFinalWhileTheRestIsWritten) {
  for (const int world_size : {1, 2, 4}) {
    for (const size_t elements : {1, 25, 1000}) {
      SCOPED_TRACE(testing::Message() << world_size << " ranks, pieces of " << elements);
      auto group = MakeLocalGroup(world_size, kShards);
      OnEachRank(group, [&](size_t rank) {
        OverlappingCommunicator overlapping(*group[rank], elements);
        TakeSteps(overlapping);
      });
    }
  }
}

}  // namespace
}  // namespace gp::engine
