// Goal: reducing gradients while backward runs changes no bit, whatever the size of the pieces; a
// step that cannot be finished ends with an error; every rank cuts the gradient into the same
// pieces.
#include "worker/engine/step/gradient_reduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "lib/base/eventually.h"
#include "worker/engine/backend/cpu/cpu_backend.h"
#include "worker/engine/fakes/overlapping_communicator.h"
#include "worker/trainer/tiny_run.h"

namespace gp::engine {
namespace {

constexpr int64_t kSteps = 5;

bool SameBits(const std::vector<float>& left, const std::vector<float>& right) {
  return left.size() == right.size() &&
         std::memcmp(left.data(), right.data(), left.size() * sizeof(float)) == 0;
}

// Like TrainTinyGroup, but reduces the gradient during backward, in pieces of at least `elements`.
std::vector<std::vector<float>> TrainOverlapped(int world_size, size_t elements) {
  auto group = MakeLocalGroup(world_size, TinyPlan().logical_shards);
  std::vector<std::vector<float>> parameters(group.size());
  OnEachRank(group, [&](size_t rank) {
    OverlappingCommunicator overlapping(*group[rank], elements);
    TinyRank member(overlapping);
    member.RunSteps(kSteps);
    EXPECT_GE(overlapping.all_reduces(), kSteps * (elements < 1000 ? 4 : 1));
    parameters[rank] = member.Parameters();
  });
  return parameters;
}

TEST(GradientReduction, OverlapChangesNoBitForAnyNumberOfRanks) {
  const std::vector<float> expected = TrainTinyGroup(1, kSteps)[0];
  for (const int world_size : {1, 2, 3, 4}) {
    for (const size_t elements : {1, 700, 1 << 20}) {
      for (const auto& parameters : TrainOverlapped(world_size, elements)) {
        EXPECT_TRUE(SameBits(parameters, expected))
            << "world size " << world_size << ", pieces of " << elements;
      }
    }
  }
}

// The phases of a step show only the part of the reduction that backward does not hide.
TEST(GradientReduction, TellsTheWholeTimeOfTheAllReduce) {
  auto group = MakeLocalGroup(2, TinyPlan().logical_shards);
  OnEachRank(group, [&](size_t rank) {
    OverlappingCommunicator overlapping(*group[rank], 1);
    TinyRank member(overlapping);
    const auto results = member.RunSteps(kSteps);
    for (const StepResult& result : results) {
      ASSERT_TRUE(result.all_reduce.has_value());
      EXPECT_GE(result.all_reduce->seconds, result.phases.allreduce_exposed);
      EXPECT_EQ(result.all_reduce->bytes % sizeof(float), 0u);
      EXPECT_GT(result.all_reduce->bytes, 0);
    }
  });
}

// A clock that advances by one second at each reading.
class ReadingsClock final : public Clock {
 public:
  MonotonicTime Now() const override { return MonotonicTime(std::chrono::seconds(readings_++)); }
  WallTime WallNow() const override { return {}; }
  int readings() const { return readings_; }

 private:
  mutable std::atomic<int> readings_ = 0;
};

TEST(GradientReduction, WhatIsReducedBeforeThePassEndsIsHidden) {
  auto group = MakeLocalGroup(1, 1);
  OverlappingCommunicator overlapping(*group[0], 1);
  const auto backend = MakeCpuBackend({.threads = 1});
  std::vector<float> memory(8);
  ShardSum shard_sum({0, 1}, [&] { return std::span<float>(memory); });
  const ReadingsClock clock;
  GradientReduction reduction(overlapping, *backend, shard_sum, {0, 8}, clock);
  shard_sum.Next();
  reduction.BeginLastPass()(0, 8);
  ASSERT_TRUE(Eventually([&] { return clock.readings() == 2; })) << "begin and end of the range";
  reduction.FinishShard();
  reduction.Finish();
  EXPECT_EQ(reduction.hidden_seconds(), 1);
}

TEST(GradientReduction, AllReducesOfOneRankAreNotMeasured) {
  auto group = MakeLocalGroup(1, TinyPlan().logical_shards);
  TinyRank alone(*group[0]);
  EXPECT_FALSE(alone.RunSteps(1)[0].all_reduce.has_value());
}

TEST(GradientReduction, AFailureDuringBackwardEndsTheStep) {
  auto group = MakeLocalGroup(1, TinyPlan().logical_shards);
  OverlappingCommunicator overlapping(*group[0], 1);
  overlapping.FailAt(2);
  TinyRank rank(overlapping);
  const std::vector<float> before = rank.Parameters();
  EXPECT_THROW(rank.RunSteps(1), CollectiveError);
  EXPECT_TRUE(SameBits(rank.Parameters(), before));
}

TEST(GradientReduction, APassThatDoesNotReachItsEndAbortsTheGroup) {
  auto group = MakeLocalGroup(1, 1);
  OverlappingCommunicator overlapping(*group[0], 1);
  const auto backend = MakeCpuBackend({.threads = 1});
  std::vector<float> memory(8);
  ShardSum shard_sum({0, 1}, [&] { return std::span<float>(memory); });
  {
    GradientReduction reduction(overlapping, *backend, shard_sum, {0, 8}, SystemClock());
    shard_sum.Next();
    reduction.BeginLastPass()(0, 4);
  }
  EXPECT_TRUE(overlapping.aborted());
}

TEST(GradientBuckets, JoinsNeighboursUntilTheyAreWorthIt) {
  GradientBuckets buckets(10);
  EXPECT_EQ(buckets.Add({90, 95}), std::nullopt);
  EXPECT_EQ(buckets.Add({40, 44}), std::nullopt);
  EXPECT_EQ(buckets.Add({85, 88}), std::nullopt);
  EXPECT_EQ(buckets.Add({88, 90}), (GradientRange{85, 95})) << "joins both sides";
  EXPECT_EQ(buckets.Add({44, 48}), std::nullopt);
  EXPECT_EQ(buckets.Add({0, 30}), (GradientRange{0, 30}));
  EXPECT_THAT(buckets.TakeRest(), testing::ElementsAre(GradientRange{40, 48}));
  EXPECT_THAT(buckets.TakeRest(), testing::IsEmpty());
}

}  // namespace
}  // namespace gp::engine
