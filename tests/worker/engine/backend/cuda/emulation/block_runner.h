// Runs the threads of a block as fibers on one host thread. A thread runs until it must wait for
// others; threads that never wait run one after another without a switch. Only one kernel of the
// process runs at a time, even if several host threads launch.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda_emulation/launch.h"
#include "worker/engine/backend/cuda/emulation/fiber.h"
#include "worker/engine/backend/cuda/emulation/warp.h"

namespace gp::cuda_emulation {

class BlockRunner {
 public:
  // Runs one block; throws KernelError. `falling`: starts with the last thread.
  void Run(const LaunchShape& shape, uint3 block, bool falling,
           const std::function<void()>& thread);

  // Called by the running thread.
  unsigned int WaitForBlock(bool predicate, Place place);
  uint64_t WaitForWarp(const WarpCall& call);

 private:
  enum class State { kNew, kRunning, kAtBarrier, kAtWarp, kDone };
  struct Thread {
    State state = State::kNew;
    uint3 index{};
    Place place;
    Fiber* fiber = nullptr;
  };

  static void FiberMain();
  void Begin(const LaunchShape& shape, bool falling);
  void RunNewThreads();
  void Schedule();
  void Continue(int index);
  void Select(int index);
  void SuspendUntilReady(int index, State state, Place place);
  void FinishBarrier(Place place);
  [[noreturn]] void Fail(int index, Place place, const std::string& what);
  void Abandon();
  // Describes a deadlock: the first thread that can never continue, and the thread that it waits
  // for.
  std::string Deadlock();
  std::string NameOf(int index) const;
  std::string StateOf(int index) const;
  uint3 IndexOf(int index) const;

  LaunchShape shape_;
  const std::function<void()>* thread_ = nullptr;
  bool falling_ = false;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::deque<int> ready_;
  int begun_ = 0;
  int done_ = 0;
  int running_ = 0;  // index of the running thread
  int at_barrier_ = 0;
  unsigned int predicates_ = 0;      // counted at the current barrier
  unsigned int barrier_result_ = 0;  // of the last barrier
  std::exception_ptr failure_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  Fiber* current_ = nullptr;
};

}  // namespace gp::cuda_emulation
