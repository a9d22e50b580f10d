// ThreadPool: the threads of one CPU backend. A region of work is cut into pieces whose shape
// depends only on the problem, never on the number of threads or on timing, and threads claim the
// pieces from counters. Each thread begins with its own range of pieces, so that it finds in its
// cache what it wrote in the region before, and then takes what others have not begun: on a busy
// machine a region waits only for pieces that a thread has begun. A thread that comes when others
// have begun its range stays out of the region, because a thread that got its core late often loses
// it soon. Threads that wait spin briefly, because a training step has hundreds of short regions,
// and then sleep, because another process may need the core. One thread (the owner) starts regions.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace gp::engine {

class ThreadPool {
 public:
  // A thread's claims on the pieces of one region.
  class Claims {
   public:
    // The claiming thread, in [0, threads): the index of memory that it alone uses in this region.
    int thread() const { return thread_; }
    // A piece that no other thread gets; empty when all have been claimed. A region ends when the
    // threads have returned from their work, which must claim until this is empty.
    std::optional<int64_t> Next();

   private:
    friend class ThreadPool;
    Claims(ThreadPool& pool, int thread) : pool_(pool), thread_(thread), range_(thread) {}

    // Claims the first piece from the thread's own range. False if there is none, or if another
    // thread has claimed from that range.
    bool Begin();
    std::optional<int64_t> Claim();

    ThreadPool& pool_;
    const int thread_;
    int range_;       // the range of pieces that is claimed from
    int passed_ = 0;  // ranges that are empty
    uint32_t claimed_ = 0;
    std::optional<int64_t> first_;  // claimed, not yet returned by Next
  };

  // The owner is thread 0; the constructor starts threads - 1 others.
  explicit ThreadPool(int threads);
  ~ThreadPool();

  int threads() const { return threads_; }

  // Calls work(claims) on threads that claimed a piece of [0, pieces); returns when all pieces are
  // done. Pieces are done side by side or one after another, so none may wait for another. `work`
  // must not throw.
  template <typename Work>
  void RunPieces(int64_t pieces, const Work& work) {
    RunTask(
        pieces, [](const void* data, Claims& claims) { (*static_cast<const Work*>(data))(claims); },
        &work);
  }

  // Calls body(part) once for every part in [0, threads).
  template <typename Body>
  void Run(const Body& body) {
    RunPieces(threads_, [&](Claims& claims) {
      while (const auto part = claims.Next()) body(static_cast<int>(*part));
    });
  }

  // Cuts [0, count) into pieces at multiples of `grain` and calls body(first, last). A piece has
  // more than one grain where there would be more than kPiecesMax.
  template <typename Body>
  void For(int64_t count, int64_t grain, const Body& body) {
    const int64_t grains = (count + grain - 1) / grain;
    const int64_t size = grain * ((grains + kPiecesMax - 1) / kPiecesMax);
    if (count <= 0) return;
    RunPieces((count + size - 1) / size, [&](Claims& claims) {
      while (const auto piece = claims.Next()) {
        body(*piece * size, std::min((*piece + 1) * size, count));
      }
    });
  }

 private:
  using Task = void (*)(const void* data, Claims& claims);

  static constexpr int64_t kPiecesMax = 1024;

  // Pieces [next, end), as end * 2^32 + next: one addition claims a piece. `next` may exceed `end`.
  // The highest bit: another thread than the range's own has claimed from it.
  struct alignas(64) Range {
    std::atomic<uint64_t> word{0};
  };

  void RunTask(int64_t pieces, Task task, const void* data);
  void WorkerLoop(int thread);
  // Does pieces until all have been claimed.
  void Work(int thread);
  // Waits until `value` differs from `old`.
  void AwaitChange(const std::atomic<uint32_t>& value, uint32_t old);
  void Wake();

  const int threads_;
  Task task_ = nullptr;
  const void* data_ = nullptr;
  std::vector<Range> ranges_;                        // by thread
  alignas(64) std::atomic<uint32_t> generation_{0};  // a new value starts the workers
  alignas(64) std::atomic<uint32_t> unfinished_{0};  // pieces of the region
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stopping_{false};
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::jthread> workers_;
};

}  // namespace gp::engine
