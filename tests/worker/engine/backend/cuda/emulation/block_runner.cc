#include "worker/engine/backend/cuda/emulation/block_runner.h"

#include <algorithm>
#include <cstring>

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace gp::cuda_emulation {
namespace {

// The runner of the current block. A global, because FiberMain has no argument.
BlockRunner* active = nullptr;

std::string Coordinates(uint3 index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " +
         std::to_string(index.z) + ")";
}

std::string PlaceName(Place place) {
  return std::string(place.file) + ":" + std::to_string(place.line);
}

}  // namespace

uint3 BlockRunner::IndexOf(int index) const {
  const auto i = static_cast<unsigned int>(index);
  const dim3& block = shape_.block;
  return {i % block.x, i / block.x % block.y, i / (block.x * block.y)};
}

std::string BlockRunner::NameOf(int index) const { return "thread " + Coordinates(IndexOf(index)); }

void BlockRunner::Begin(const LaunchShape& shape, bool falling) {
  shape_ = shape;
  falling_ = falling;
  const size_t count = size_t{shape.block.x} * shape.block.y * shape.block.z;
  threads_.assign(count, Thread{});
  for (size_t i = 0; i < count; ++i) threads_[i].index = IndexOf(static_cast<int>(i));
  warps_.resize((count + 31) / 32);
  for (Warp& warp : warps_) warp.Clear();
  ready_.clear();
  begun_ = 0;
  done_ = 0;
  at_barrier_ = 0;
  predicates_ = 0;
  failure_ = nullptr;
}

void BlockRunner::Run(const LaunchShape& shape, uint3 block, bool falling,
                      const std::function<void()>& thread) {
  Begin(shape, falling);
  thread_ = &thread;
  blockIdx = block;
  blockDim = shape.block;
  gridDim = shape.grid;
  active = this;
  Schedule();
  if (failure_ == nullptr && done_ < static_cast<int>(threads_.size())) {
    failure_ = std::make_exception_ptr(KernelError(Deadlock()));
  }
  if (failure_ == nullptr) return;
  Abandon();
  std::rethrow_exception(failure_);
}

void BlockRunner::Schedule() {
  while (failure_ == nullptr) {
    if (!ready_.empty()) {
      const int next = ready_.front();
      ready_.pop_front();
      Continue(next);
    } else if (begun_ < static_cast<int>(threads_.size())) {
      if (idle_.empty()) {
        fibers_.push_back(std::make_unique<Fiber>(&BlockRunner::FiberMain));
        idle_.push_back(fibers_.back().get());
      }
      current_ = idle_.back();
      idle_.pop_back();
      current_->Resume();
    } else {
      return;
    }
  }
}

void BlockRunner::Continue(int index) {
  current_ = threads_[static_cast<size_t>(index)].fiber;
  Select(index);
  current_->Resume();
}

void BlockRunner::Select(int index) {
  running_ = index;
  Thread& thread = threads_[static_cast<size_t>(index)];
  threadIdx = thread.index;
  thread.state = State::kRunning;
}

// The body of each fiber: runs new threads while there are any, then stays idle until the next
// block.
void BlockRunner::FiberMain() {
  while (true) {
    active->RunNewThreads();
    if (active->failure_ == nullptr) active->idle_.push_back(active->current_);
    Fiber::Suspend();
  }
}

void BlockRunner::RunNewThreads() {
  const int count = static_cast<int>(threads_.size());
  while (begun_ < count && failure_ == nullptr && ready_.empty()) {
    const int index = falling_ ? count - 1 - begun_ : begun_;
    ++begun_;
    Select(index);
    threads_[static_cast<size_t>(index)].fiber = current_;
    try {
      (*thread_)();
    } catch (...) {
      failure_ = std::current_exception();
    }
    threads_[static_cast<size_t>(running_)].state = State::kDone;
    ++done_;
  }
}

void BlockRunner::SuspendUntilReady(int index, State state, Place place) {
  Thread& thread = threads_[static_cast<size_t>(index)];
  thread.state = state;
  thread.place = place;
  Fiber::Suspend();
}

unsigned int BlockRunner::WaitForBlock(bool predicate, Place place) {
  const int self = running_;
  predicates_ += predicate ? 1 : 0;
  ++at_barrier_;
  if (at_barrier_ == static_cast<int>(threads_.size())) {
    FinishBarrier(place);
  } else {
    SuspendUntilReady(self, State::kAtBarrier, place);
  }
  return barrier_result_;
}

void BlockRunner::FinishBarrier(Place place) {
  for (int index = 0; index < static_cast<int>(threads_.size()); ++index) {
    const Thread& thread = threads_[static_cast<size_t>(index)];
    if (index == running_) continue;
    const bool is_here =
        thread.place.line == place.line &&
        (thread.place.file == place.file || std::strcmp(thread.place.file, place.file) == 0);
    if (!is_here) {
      Fail(running_, place, NameOf(index) + " waits at the barrier of " + PlaceName(thread.place));
    }
    ready_.push_back(index);
  }
  barrier_result_ = predicates_;
  predicates_ = 0;
  at_barrier_ = 0;
}

uint64_t BlockRunner::WaitForWarp(const WarpCall& call) {
  const int self = running_;
  const int lane = self % 32;
  Warp& warp = warps_[static_cast<size_t>(self / 32)];
  std::string problem = warp.Arrive(lane, call);
  if (!problem.empty()) Fail(self, call.place, problem);
  if (!warp.IsComplete(lane)) {
    SuspendUntilReady(self, State::kAtWarp, call.place);
    return warp.ResultOf(lane);
  }
  problem = warp.Finish(lane);
  if (!problem.empty()) Fail(self, call.place, problem);
  for (int other = 0; other < 32; ++other) {
    if (other != lane && (call.mask >> other & 1u) != 0) ready_.push_back(self / 32 * 32 + other);
  }
  return warp.ResultOf(lane);
}

void BlockRunner::Fail(int index, Place place, const std::string& what) {
  throw KernelError("block " + Coordinates(blockIdx) + ", " + NameOf(index) + " at " +
                    PlaceName(place) + ": " + what);
}

std::string BlockRunner::StateOf(int index) const {
  const Thread& thread = threads_[static_cast<size_t>(index)];
  if (thread.state == State::kDone) return NameOf(index) + " has returned";
  return NameOf(index) + " waits at " + PlaceName(thread.place);
}

std::string BlockRunner::Deadlock() {
  const auto waiting = std::find_if(threads_.begin(), threads_.end(), [](const Thread& thread) {
    return thread.state == State::kAtBarrier || thread.state == State::kAtWarp;
  });
  const int index = static_cast<int>(waiting - threads_.begin());
  const std::string head = "block " + Coordinates(blockIdx) + ", " + NameOf(index) + " waits at " +
                           PlaceName(waiting->place);
  if (waiting->state == State::kAtBarrier) {
    for (int other = 0; other < static_cast<int>(threads_.size()); ++other) {
      if (threads_[static_cast<size_t>(other)].state == State::kAtBarrier) continue;
      return head + " for all threads of the block, but " + StateOf(other);
    }
  }
  const Warp& warp = warps_[static_cast<size_t>(index / 32)];
  const unsigned int mask = warp.CallOf(index % 32).mask;
  for (int lane = 0; lane < 32; ++lane) {
    const int other = index / 32 * 32 + lane;
    if ((mask >> lane & 1u) == 0 || warp.IsWaiting(lane)) continue;
    if (other >= static_cast<int>(threads_.size())) {
      return head + " for lane " + std::to_string(lane) + ", which the block does not have";
    }
    return head + " for lane " + std::to_string(lane) + ", but " + StateOf(other);
  }
  return head + " for nobody";
}

// Abandons the stacks of threads suspended inside the kernel; nothing leaks, because kernels own no
// resources.
void BlockRunner::Abandon() {
  idle_.clear();
  for (const std::unique_ptr<Fiber>& fiber : fibers_) {
    fiber->Restart();
    idle_.push_back(fiber.get());
  }
}

unsigned int WaitForBlock(bool predicate, Place place) {
  return active->WaitForBlock(predicate, place);
}

uint64_t WaitForWarp(WarpOperation operation, unsigned int mask, uint64_t value, int argument,
                     int width, Place place) {
  return active->WaitForWarp({operation, mask, value, argument, width, place});
}

}  // namespace gp::cuda_emulation
