#include "worker/engine/backend/cuda/emulation/work_queue.h"

#include <cstdlib>
#include <cstring>
#include <optional>

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

}  // namespace

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
  mark->queue = this;
  Add({nullptr, mark, nullptr});
  if (!IsDeferred()) Run();
  return mark;
}

void WorkQueue::WaitFor(std::shared_ptr<Mark> mark) {
  if (!mark->reached) Add({nullptr, nullptr, std::move(mark)});
}

void WorkQueue::RunItem(const Item& item) {
  if (item.work != nullptr) item.work();
  if (item.awaited != nullptr) item.awaited->queue->RunUntil(*item.awaited);
  if (item.reached != nullptr) {
    item.reached->time = std::chrono::steady_clock::now();
    item.reached->reached = true;
  }
}

bool WorkQueue::IsEmpty() {
  MutexLock lock(mutex_);
  return items_.empty();
}

bool WorkQueue::RunOne() {
  MutexLock order(running_);
  std::optional<Item> item;
  {
    MutexLock lock(mutex_);
    if (items_.empty()) return false;
    item = std::move(items_.front());
    items_.pop_front();
  }
  RunItem(*item);
  return true;
}

void WorkQueue::Run() {
  while (RunOne()) {
  }
}

void WorkQueue::RunUntil(const Mark& mark) {
  while (!mark.reached && RunOne()) {
  }
}

}  // namespace gp::cuda_emulation
