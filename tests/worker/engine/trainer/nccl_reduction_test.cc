// Goal: ranks that sum their gradients through NCCL, piece by piece while backward goes on, train
// to the same bits as one rank alone, cut the gradient alike, and hear of a rank that fails.
// Method: the CPU's backend makes the gradients; its memory serves as that of the emulated device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <thread>

#include "worker/engine/backend/cpu/cpu_backend.h"
#include "worker/engine/collectives/device_group.h"
#include "worker/engine/fakes/overlapping_communicator.h"
#include "worker/engine/trainer/tiny_run.h"

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
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([&, rank] {
      const auto group = ConnectDeviceGroup(
          {.epoch = 1,
           .rank = rank,
           .logical_shards = TinyPlan().logical_shards,
           .addresses = std::vector<std::string>(static_cast<size_t>(world_size))},
          id, deterministic);
      body(*group);
    });
  }
}

// The parameters of each rank; gradients travel in pieces of `elements`.
std::vector<std::vector<float>> Train(int world_size, size_t elements, bool deterministic) {
  std::vector<std::vector<float>> parameters(static_cast<size_t>(world_size));
  OnEveryRank(world_size, deterministic, [&](Communicator& group) {
    OverlappingCommunicator overlapping(group, elements);
    TinyRank member(overlapping);
    member.Take(kSteps);
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
    GradientReduction reduction(overlapping, *backend, shard_sum);
    shard_sum.Next();
    reduction.FinishShard();
    shard_sum.Next();
    const GradientReady ready = reduction.BeginLastPass();
    ready(4, 8);
    if (group.rank() == 1) return;  // as by an exception
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
