// Goal: every piece of a region is done once, whatever the scheduler does; the pieces do not depend
// on the number of threads; sleeping workers wake up; no thread waits for a piece that another one
// has not begun.
#include "worker/engine/backend/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "worker/engine/backend/cpu/kernels/isa.h"

namespace gp::engine {
namespace {

// Runs a region in which each piece counts itself; `pause` is called before each.
template <typename Pause>
std::vector<int> CountsOf(ThreadPool& pool, int64_t pieces, const Pause& pause) {
  std::vector<std::atomic<int>> counts(static_cast<size_t>(pieces));
  pool.RunPieces(pieces, [&](ThreadPool::Claims& claims) {
    while (const auto piece = claims.Next()) {
      pause(*piece);
      ++counts[static_cast<size_t>(*piece)];
    }
  });
  return {counts.begin(), counts.end()};
}

std::vector<int> Ones(int64_t count) { return std::vector<int>(static_cast<size_t>(count), 1); }

TEST(ThreadPool, DoesEveryPieceOnce) {
  for (const int threads : {1, 2, 3, 7, 32}) {
    ThreadPool pool(threads);
    for (const int64_t pieces : {0, 1, 2, 5, 31, 100}) {
      for (int region = 0; region < 100; ++region) {
        ASSERT_EQ(CountsOf(pool, pieces, [](int64_t) {}), Ones(pieces));
      }
    }
  }
}

// With more threads than cores, threads that give up their core at each piece come late to regions
// that are over, and claim pieces of regions that they were not woken for.
TEST(ThreadPool, DoesEveryPieceOnceWhenThreadsComeLate) {
  ThreadPool pool(16);
  for (int region = 0; region < 1000; ++region) {
    ASSERT_EQ(CountsOf(pool, 1 + region % 23,
                       [&](int64_t piece) {
                         if ((piece + region) % 3 == 0) std::this_thread::yield();
                       }),
              Ones(1 + region % 23));
  }
}

// A thread that stops in a piece is like one that has lost its core.
TEST(ThreadPool, OthersDoAllPiecesButTheOneThatAThreadStopsIn) {
  constexpr int64_t kPieces = 50;
  ThreadPool pool(2);
  const std::thread::id owner = std::this_thread::get_id();
  bool stopped = false;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!stopped && std::chrono::steady_clock::now() < deadline) {
    std::atomic<int64_t> done = 0;
    pool.RunPieces(kPieces, [&](ThreadPool::Claims& claims) {
      while (claims.Next()) {
        if (std::this_thread::get_id() != owner && !stopped) {
          stopped = true;
          while (done < kPieces - 1) std::this_thread::yield();
        }
        ++done;
      }
    });
    EXPECT_EQ(done, kPieces);
  }
  EXPECT_TRUE(stopped);
}

TEST(ThreadPool, AThreadHasItsNumberAlone) {
  ThreadPool pool(7);
  std::vector<std::atomic<int>> users(7);
  std::atomic<bool> alone = true;
  for (int region = 0; region < 500; ++region) {
    pool.RunPieces(20, [&](ThreadPool::Claims& claims) {
      std::atomic<int>& mine = users[static_cast<size_t>(claims.thread())];
      if (mine.fetch_add(1) != 0) alone = false;
      while (claims.Next()) std::this_thread::yield();
      mine.fetch_sub(1);
    });
  }
  EXPECT_TRUE(alone);
}

TEST(ThreadPool, RunsEveryPartOnce) {
  for (const int threads : {1, 2, 4, 32}) {
    ThreadPool pool(threads);
    std::vector<int> calls(static_cast<size_t>(threads));
    for (int task = 0; task < 1000; ++task) {
      pool.Run([&](int part) { ++calls[static_cast<size_t>(part)]; });
    }
    EXPECT_EQ(calls, std::vector<int>(static_cast<size_t>(threads), 1000));
  }
}

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

Ranges PiecesOfFor(int threads, int64_t count, int64_t grain) {
  ThreadPool pool(threads);
  std::mutex mutex;
  Ranges ranges;
  pool.For(count, grain, [&](int64_t first, int64_t last) {
    const std::lock_guard lock(mutex);
    ranges.emplace_back(first, last);
  });
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

TEST(ThreadPool, CutsRangesAtGrainsAlikeForAnyNumberOfThreads) {
  for (const int64_t count : {0, 1, 15, 16, 17, 100, 1000, 100'000}) {
    const Ranges ranges = PiecesOfFor(1, count, 16);
    int64_t next = 0;
    for (const auto& [first, last] : ranges) {
      EXPECT_EQ(first, next);
      EXPECT_EQ(first % 16, 0);
      EXPECT_LT(first, last);
      next = last;
    }
    EXPECT_EQ(next, count);
    for (const int threads : {2, 3, 8}) EXPECT_EQ(PiecesOfFor(threads, count, 16), ranges);
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
