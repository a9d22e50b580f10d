#include "worker/engine/backend/cuda/emulation/work_queue.h"

#include <cstdlib>
#include <cstring>

namespace gp::cuda_emulation {
namespace {

bool DeferredByEnvironment() {
  const char* value = std::getenv("GP_CUDA_EMULATION_DEFERRED");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

std::atomic<bool>& Deferred() {
  static std::atomic<bool> deferred = DeferredByEnvironment();
  return deferred;
}

std::atomic<int64_t> pretended_ns = 0;

}  // namespace

void PretendToTake(std::chrono::nanoseconds time) { pretended_ns += time.count(); }

void SetDeferred(bool deferred) { Deferred() = deferred; }
bool IsDeferred() { return Deferred(); }

void WorkQueue::Add(Item item) {
  MutexLock lock(mutex_);
  items_.push_back(std::move(item));
}

void WorkQueue::Push(std::function<void()> work) {
  if (IsDeferred()) return Add({std::move(work), nullptr, nullptr});
  Run();
  work();
}

std::shared_ptr<Mark> WorkQueue::Record() {
  auto mark = std::make_shared<Mark>();
  mark->queue = weak_from_this();
  Add({nullptr, mark, nullptr});
  if (!IsDeferred()) Run();
  return mark;
}

void WorkQueue::WaitFor(std::shared_ptr<Mark> mark) {
  if (!mark->reached) Add({nullptr, nullptr, std::move(mark)});
}

void WorkQueue::RunItem(const Item& item) {
  if (item.work != nullptr) item.work();
  if (item.awaited != nullptr) RunUntilReached(*item.awaited);
  if (item.reached != nullptr) {
    item.reached->time = std::chrono::steady_clock::now() + std::chrono::nanoseconds(pretended_ns);
    item.reached->reached = true;
  }
}

bool WorkQueue::IsEmpty() {
  MutexLock lock(mutex_);
  return items_.empty();
}

// The next piece of work, once no other thread is running one; nullopt if the queue is empty or
// `mark` has been reached. A running piece may wait for another queue, so stopping at the mark
// prevents two queues from waiting for each other forever.
std::optional<WorkQueue::Item> WorkQueue::Begin(const Mark* mark) {
  const auto reached = [mark] { return mark != nullptr && mark->reached; };
  MutexLock lock(mutex_);
  while (running_ && !reached()) ended_.Wait(mutex_);
  if (reached() || items_.empty()) return std::nullopt;
  running_ = true;
  Item item = std::move(items_.front());
  items_.pop_front();
  return item;
}

void WorkQueue::End() {
  MutexLock lock(mutex_);
  running_ = false;
  ended_.NotifyAll();
}

bool WorkQueue::RunOneBefore(const Mark* mark) {
  const std::optional<Item> item = Begin(mark);
  if (!item) return false;
  struct AtTheEnd {  // runs also if a kernel throws
    WorkQueue& queue;
    ~AtTheEnd() { queue.End(); }
  } const at_the_end{*this};
  RunItem(*item);
  return true;
}

void WorkQueue::Run() {
  while (RunOne()) {
  }
}

void WorkQueue::RunUntil(const Mark& mark) {
  while (RunOneBefore(&mark)) {
  }
}

void RunUntilReached(const Mark& mark) {
  if (const std::shared_ptr<WorkQueue> queue = mark.queue.lock()) queue->RunUntil(mark);
}

}  // namespace gp::cuda_emulation
