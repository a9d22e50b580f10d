#include "tokenizer/part_workers.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace gp {
namespace {

using Work = std::function<void(size_t part, size_t worker)>;

constexpr size_t kWorkersMax = 256;

// The parts that are being worked on. Thread-safe.
class PartQueue {
 public:
  PartQueue(size_t parts, const Work& work) : parts_(parts), work_(work) {}

  // Takes parts until none is left or a thread has thrown.
  void Run(size_t worker) noexcept {
    try {
      for (size_t part = next_++; part < parts_; part = next_++) work_(part, worker);
    } catch (...) {
      next_ = parts_;
      if (!threw_.exchange(true)) exception_ = std::current_exception();
    }
  }

  // Rethrows an exception of a thread. Every thread must have ended.
  void Check() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  const size_t parts_;
  const Work& work_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> threw_ = false;
  std::exception_ptr exception_;  // the first one thrown
};

// Starts up to `count` threads; fewer if the system refuses to create more.
std::vector<std::jthread> StartWorkers(size_t count, PartQueue& queue) {
  std::vector<std::jthread> threads;
  threads.reserve(count);
  try {
    for (size_t i = 0; i < count; ++i) threads.emplace_back([&queue, i] { queue.Run(i + 1); });
  } catch (const std::system_error&) {
    return threads;
  }
  return threads;
}

}  // namespace

void WorkOnParts(size_t parts, int threads, const Work& work) {
  const size_t workers = std::min({static_cast<size_t>(std::max(threads, 1)), parts, kWorkersMax});
  PartQueue queue(parts, work);
  {
    const auto others = StartWorkers(std::max<size_t>(workers, 1) - 1, queue);
    queue.Run(0);
  }
  queue.Check();
}

}  // namespace gp
