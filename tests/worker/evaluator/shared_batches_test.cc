#include "worker/evaluator/shared_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <vector>

#include "worker/engine/collectives/local_communicator.h"
#include "worker/engine/collectives/rank_threads.h"

namespace gp::engine {
namespace {

// Computes shared batches, where batch i has the results -i and 10 i.
std::vector<std::vector<double>> ResultsOf(int world_size, int64_t batches,
                                           std::vector<int>& computed_by) {
  auto group = MakeLocalGroup(world_size, 16);
  std::vector<std::vector<double>> results(group.size());
  computed_by.assign(static_cast<size_t>(batches), -1);
  OnEachRank(group, [&](size_t rank) {
    results[rank].resize(static_cast<size_t>(2 * batches));
    ComputeShared(*group[rank], 2, results[rank], [&](int64_t batch, std::span<double> out) {
      computed_by[static_cast<size_t>(batch)] = static_cast<int>(rank);
      out[0] = static_cast<double>(-batch);
      out[1] = static_cast<double>(10 * batch);
    });
  });
  return results;
}

TEST(SharedBatches, EveryRankGetsAllResultsInTheirPlace) {
  for (const int world_size : {1, 2, 3, 16}) {
    for (const int64_t batches : {0, 1, 2, 7, 50}) {
      std::vector<int> computed_by;
      for (const auto& results : ResultsOf(world_size, batches, computed_by)) {
        for (int64_t i = 0; i < batches; ++i) {
          EXPECT_EQ(results[static_cast<size_t>(2 * i)], static_cast<double>(-i));
          EXPECT_EQ(results[static_cast<size_t>(2 * i + 1)], static_cast<double>(10 * i));
        }
      }
      for (int64_t i = 0; i < batches; ++i) {
        EXPECT_EQ(computed_by[static_cast<size_t>(i)], i % world_size);
      }
    }
  }
}

TEST(SharedBatches, TellsHowManyAreDoneUpToAll) {
  auto group = MakeLocalGroup(1, 1);
  std::vector<double> results(20);
  std::vector<int64_t> told;
  ComputeShared(
      *group[0], 1, results, [](int64_t, std::span<double> out) { out[0] = 0; },
      [&](int64_t done) { told.push_back(done); });
  EXPECT_THAT(told, testing::ElementsAre(8, 16, 20));
}

}  // namespace
}  // namespace gp::engine
