#include "tokenizer/part_workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "lib/tokenizer/no_more_threads.h"

namespace gp {
namespace {

// How often each part was processed. Also checks that worker numbers are below `threads`.
std::vector<int> Counts(size_t parts, int threads) {
  std::vector<std::atomic<int>> counts(parts);
  WorkOnParts(parts, threads, [&](size_t part, size_t worker) {
    EXPECT_LT(worker, static_cast<size_t>(threads));
    ++counts[part];
  });
  return {counts.begin(), counts.end()};
}

TEST(PartWorkers, EveryPartIsWorkedOnOnce) {
  for (const int threads : {1, 2, 7}) EXPECT_EQ(Counts(100, threads), std::vector<int>(100, 1));
  EXPECT_EQ(Counts(0, 3), std::vector<int>());
}

TEST(PartWorkers, ThreadsThatCannotBeStartedAreDoneWithout) {
  const NoMoreThreads none;
  EXPECT_EQ(Counts(10, 4), std::vector<int>(10, 1));
}

TEST(PartWorkers, AnExceptionReachesTheCallerAndEndsTheWork) {
  std::atomic<int> begun = 0;
  const auto work = [&](size_t, size_t) {
    ++begun;
    throw std::runtime_error("broken");
  };
  EXPECT_THROW(WorkOnParts(1000, 1, work), std::runtime_error);
  EXPECT_EQ(begun, 1);
}

}  // namespace
}  // namespace gp
