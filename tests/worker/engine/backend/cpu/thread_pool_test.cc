// Goal: every part of a task is done once, ranges cover everything without overlap, sleeping
// workers wake up, and no caller waits for a thread that has not begun its part.
#include "worker/engine/backend/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/machine/progress.h"
#include "worker/engine/backend/cpu/kernels/isa.h"

namespace gp::engine {
namespace {

TEST(ThreadPool, RunsEveryPartOncePerTask) {
  for (const int threads : {1, 2, 4, 32}) {
    ThreadPool pool(threads);
    std::vector<int> calls(static_cast<size_t>(threads));
    for (int task = 0; task < 1000; ++task) {
      pool.Run([&](int part) { ++calls[static_cast<size_t>(part)]; });
    }
    EXPECT_EQ(calls, std::vector<int>(static_cast<size_t>(threads), 1000));
  }
}

// With far more threads than cores, most of them start too late for such a short task.
TEST(ThreadPool, TheCallerDoesThePartOfAThreadThatHasNotBegun) {
  ThreadPool pool(64);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> taken_over = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (taken_over == 0 && std::chrono::steady_clock::now() < deadline) {
    pool.Run([&](int part) {
      if (part > 0 && std::this_thread::get_id() == caller) ++taken_over;
    });
  }
  EXPECT_GT(taken_over, 0);
}

TEST(ThreadPool, CutsRangesAtGrainsWithoutGapOrOverlap) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (const int64_t count : {0, 1, 15, 16, 17, 100, 1000}) {
      std::vector<std::atomic<int>> touched(static_cast<size_t>(count));
      std::atomic<bool> aligned = true;
      pool.For(count, 16, [&](int64_t first, int64_t last) {
        if (first % 16 != 0) aligned = false;
        for (int64_t i = first; i < last; ++i) ++touched[static_cast<size_t>(i)];
      });
      EXPECT_TRUE(aligned);
      for (const std::atomic<int>& times : touched) EXPECT_EQ(times, 1);
    }
  }
}

// A trainer whose regions all run on one thread must not look as if it hung.
TEST(ThreadPool, EveryRegionIsProgress) {
  const progress::Training training;
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    const auto count = [] { return progress::Now().count; };
    uint64_t before = count();
    pool.Run([](int /*part*/) {});
    EXPECT_GT(count(), before) << threads;
    before = count();
    pool.For(10, 16, [](int64_t /*first*/, int64_t /*last*/) {});
    EXPECT_GT(count(), before) << threads;
  }
}

TEST(ThreadPool, StopsWithoutHavingWorked) {
  for (int i = 0; i < 50; ++i) ThreadPool pool(3);
}

TEST(Isa, NamesAreParsedBackAndUnknownOnesRefused) {
  for (const Isa isa :
       {Isa::kAuto, Isa::kGeneric, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx}) {
    EXPECT_EQ(ParseIsa(IsaName(isa)), isa);
  }
  EXPECT_THROW(ParseIsa("avx1024"), std::invalid_argument);
  EXPECT_TRUE(IsaSupported(BestIsa()));
}

}  // namespace
}  // namespace gp::engine
