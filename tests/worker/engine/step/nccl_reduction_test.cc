// Goal: ranks that sum their gradients through NCCL, piece by piece during backward, train to the
// same bits as a single rank, cut the gradient in the same way, and detect a failing rank. Method:
// the CPU backend computes the gradients; its memory serves as the emulated device's memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "worker/engine/backend/cpu/cpu_backend.h"
#include "worker/engine/collectives/device_group.h"
#include "worker/engine/collectives/rank_threads.h"
#include "worker/engine/fakes/overlapping_communicator.h"
#include "worker/trainer/tiny_run.h"

namespace gp::engine {
namespace {

constexpr int64_t kSteps = 5;

bool SameBits(const std::vector<float>& left, const std::vector<float>& right) {
  return left.size() == right.size() &&
         std::memcmp(left.data(), right.data(), left.size() * sizeof(float)) == 0;
}

using Body = std::function<void(Communicator& group)>;

void OnEveryRank(int world_size, bool deterministic, const Body& body) {
  const std::string id = MakeDeviceGroupId();
  OnEachRank(static_cast<size_t>(world_size), [&](size_t rank) {
    const auto group =
        ConnectDeviceGroup({.epoch = 1,
                            .rank = static_cast<int>(rank),
                            .logical_shards = TinyPlan().logical_shards,
                            .addresses = std::vector<std::string>(static_cast<size_t>(world_size))},
                           id, deterministic);
    body(*group);
  });
}

// The parameters of each rank after training with gradient pieces of `elements` elements.
std::vector<std::vector<float>> Train(int world_size, size_t elements, bool deterministic,
                                      const runspec::RunSpec& spec = TinySpec()) {
  std::vector<std::vector<float>> parameters(static_cast<size_t>(world_size));
  OnEveryRank(world_size, deterministic, [&](Communicator& group) {
    OverlappingCommunicator overlapping(group, elements);
    TinyRank member(overlapping, spec);
    member.RunSteps(kSteps);
    parameters[static_cast<size_t>(group.rank())] = member.Parameters();
  });
  return parameters;
}

TEST(NcclReduction, ThePiecesAndTheNumberOfRanksChangeNoBit) {
  const std::vector<float> expected = TrainTinyGroup(1, kSteps)[0];
  for (const int world_size : {1, 2, 3, 4}) {
    for (const size_t elements : {size_t{0}, size_t{700}, size_t{1} << 20}) {
      for (const auto& parameters : Train(world_size, elements, /*deterministic=*/true)) {
        EXPECT_TRUE(SameBits(parameters, expected))
            << "world size " << world_size << ", pieces of " << elements;
      }
    }
  }
}

TEST(NcclReduction, NorDoTheyWhenPartsOfTheModelAreFrozen) {
  runspec::RunSpec spec = TinySpec();
  spec.train = {"wpe", "block 1"};
  const std::vector<float> expected = TrainTinyGroup(1, kSteps, spec)[0];
  for (const size_t elements : {size_t{0}, size_t{700}}) {
    for (const auto& parameters : Train(3, elements, /*deterministic=*/true, spec)) {
      EXPECT_TRUE(SameBits(parameters, expected)) << "pieces of " << elements;
    }
  }
}

TEST(NcclReduction, WithoutTheFixedTreeTheRanksStillAgree) {
  const std::vector<float> expected = TrainTinyGroup(1, kSteps)[0];
  for (const int world_size : {2, 3}) {
    const auto parameters = Train(world_size, 700, /*deterministic=*/false);
    for (const auto& of_rank : parameters) {
      EXPECT_TRUE(SameBits(of_rank, parameters[0]));
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(of_rank[i], expected[i], 1e-3);
    }
  }
}

runspec::RunSpec ShardedSpec() {
  runspec::RunSpec spec = TinySpec();
  spec.engine.zero1 = true;
  return spec;
}

// Rank 0's results of a training in which each rank holds a part of the optimizer's state.
struct Sharded {
  std::vector<float> parameters;
  HostMoments moments;
  size_t largest_part = 0;
};

// Trains `steps` steps, starting with `start` unless that is empty.
Sharded TrainSharded(int world_size, int64_t steps, const Sharded& start, int64_t start_step,
                     const runspec::RunSpec& spec = ShardedSpec()) {
  Sharded result;
  std::mutex mutex;
  OnEveryRank(world_size, /*deterministic=*/true, [&](Communicator& group) {
    TinyRank member(group, spec);
    OptimizerShards* const shards = member.training_step().shards();
    ASSERT_EQ(shards != nullptr, world_size > 1);
    if (!start.parameters.empty()) {
      std::copy(start.parameters.begin(), start.parameters.end(),
                member.model().parameters().begin());
      Optimizer& optimizer = member.training_step().optimizer();
      optimizer.set_updates(start_step);
      member.training_step().ResumeAfter(start_step);
      if (shards != nullptr) {
        shards->LoadMoments(start.moments);
      } else {
        std::copy_n(start.moments.first.data(), start.moments.first.size(),
                    optimizer.first_moment().data());
        std::copy_n(start.moments.second.data(), start.moments.second.size(),
                    optimizer.second_moment().data());
      }
    }
    member.RunSteps(steps);
    HostMoments moments;
    if (shards != nullptr) shards->GatherMoments(group.rank() == 0 ? &moments : nullptr);
    const std::lock_guard lock(mutex);
    result.largest_part =
        std::max(result.largest_part, member.training_step().optimizer().first_moment().size());
    if (group.rank() == 0) {
      result.parameters = member.Parameters();
      result.moments = moments;
    } else if (!result.parameters.empty()) {
      EXPECT_TRUE(SameBits(member.Parameters(), result.parameters));
    }
  });
  return result;
}

TEST(OptimizerShards, APartOnEachRankTrainsToTheSameBits) {
  auto alone = MakeLocalGroup(1, TinyPlan().logical_shards);
  TinyRank whole(*alone[0]);
  whole.RunSteps(kSteps);
  const std::span<float> first = whole.training_step().optimizer().first_moment();
  const std::span<float> second = whole.training_step().optimizer().second_moment();
  for (const int world_size : {1, 2, 3, 4}) {
    const Sharded sharded = TrainSharded(world_size, kSteps, {}, 0);
    EXPECT_TRUE(SameBits(sharded.parameters, whole.Parameters())) << world_size;
    EXPECT_LE(sharded.largest_part, first.size() / static_cast<size_t>(world_size) + 32);
    if (world_size == 1) continue;
    EXPECT_TRUE(SameBits(sharded.moments.first, {first.begin(), first.end()})) << world_size;
    EXPECT_TRUE(SameBits(sharded.moments.second, {second.begin(), second.end()})) << world_size;
  }
}

TEST(OptimizerShards, TrainSomePartsOfTheModelToTheSameBits) {
  runspec::RunSpec spec = ShardedSpec();
  spec.train = {"wpe", "block 1"};
  const std::vector<float> expected = TrainTinyGroup(1, kSteps, spec)[0];
  for (const int world_size : {2, 3}) {
    const Sharded sharded = TrainSharded(world_size, kSteps, {}, 0, spec);
    EXPECT_TRUE(SameBits(sharded.parameters, expected)) << world_size;
  }
}

TEST(OptimizerShards, AnotherNumberOfRanksGoesOnWithTheGatheredState) {
  const std::vector<float> expected = TrainTinyGroup(1, kSteps)[0];
  const Sharded half = TrainSharded(3, 2, {}, 0);
  for (const int world_size : {1, 2, 4}) {
    const Sharded rest = TrainSharded(world_size, kSteps - 2, half, 2);
    EXPECT_TRUE(SameBits(rest.parameters, expected)) << world_size;
  }
}

TEST(NcclReduction, ARankThatFailsInTheMiddleOfAPassIsNotWaitedFor) {
  OnEveryRank(2, /*deterministic=*/true, [](Communicator& group) {
    OverlappingCommunicator overlapping(group, 4);
    const auto backend = MakeCpuBackend({.threads = 1});
    std::vector<float> memory(16);
    std::deque<std::span<float>> halves = {std::span(memory).first(8), std::span(memory).last(8)};
    ShardSum shard_sum(OwnedShards(4, group.rank(), 2), [&] {
      const std::span<float> half = halves.front();
      halves.pop_front();
      return half;
    });
    GradientReduction reduction(overlapping, *backend, shard_sum, {0, 8}, SystemClock());
    shard_sum.Next();
    reduction.FinishShard();
    shard_sum.Next();
    const GradientReady ready = reduction.BeginLastPass();
    ready(4, 8);
    if (group.rank() == 1) return;  // as if an exception had been thrown
    EXPECT_THROW(
        {
          ready(0, 4);
          reduction.Finish();
          group.device()->Await();
        },
        CollectiveError);
  });
}

}  // namespace
}  // namespace gp::engine
