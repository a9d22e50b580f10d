#include "worker/engine/backend/cuda/fastest_candidate.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace gp::engine {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Candidates with fixed times; counts their runs.
class Race {
 public:
  explicit Race(std::vector<double> times) : times_(std::move(times)), runs_(times_.size()) {}

  size_t Run() {
    return FastestCandidate(times_.size(), [&](size_t i, int runs) {
      runs_[i] += runs;
      return times_[i] * (is_slowing_ ? slowness_ *= 1.05 : 1);
    });
  }
  void SlowDown() { is_slowing_ = true; }
  int runs(size_t i) const { return runs_[i]; }

 private:
  const std::vector<double> times_;
  std::vector<int> runs_;
  bool is_slowing_ = false;
  double slowness_ = 1;
};

TEST(FastestCandidate, IsChosenAndSlowOnesRunOnce) {
  Race race({10, 16, 9, 8, 20, 8.5, 30});
  EXPECT_EQ(race.Run(), 3u);
  for (const size_t slow : {1u, 4u, 6u}) EXPECT_EQ(race.runs(slow), 1) << slow;
  EXPECT_GT(race.runs(3), 1);
}

TEST(FastestCandidate, AtMostFourAreTimedAgain) {
  Race race(std::vector<double>(48, 1.0));
  EXPECT_EQ(race.Run(), 0u);
  int again = 0;
  for (size_t i = 0; i < 48; ++i) again += race.runs(i) > 1 ? 1 : 0;
  EXPECT_EQ(again, 4);
}

TEST(FastestCandidate, TheFirstOneStaysUnlessAnotherIsClearlyFaster) {
  EXPECT_EQ(Race({10, 9.9, 9.85}).Run(), 0u);
  EXPECT_EQ(Race({10, 9.9, 9.7}).Run(), 2u);
}

TEST(FastestCandidate, AClockThatFallsDecidesNothing) {
  Race race({10, 10, 8, 10});
  race.SlowDown();
  EXPECT_EQ(race.Run(), 2u);
}

TEST(FastestCandidate, WhatCannotRunIsNotChosen) {
  EXPECT_EQ(Race({kNever, 5, kNever}).Run(), 1u);
  EXPECT_EQ(Race({5, kNever}).Run(), 0u);
  EXPECT_EQ(Race({kNever, kNever}).Run(), 0u);
  EXPECT_EQ(Race({5}).Run(), 0u);
}

}  // namespace
}  // namespace gp::engine
