#include "worker/agent/load/storage_space.h"

#include <utility>

#include "base/clock.h"
#include "base/mutex.h"

namespace gp::agent {
namespace {

// How long the destructor waits for a reading in progress. A file system that does not hang answers
// in milliseconds.
constexpr std::chrono::milliseconds kEndMax{200};

}  // namespace

struct StorageSpace::Shared {
  Shared(std::string of, std::chrono::nanoseconds each, Reader with)
      : path(std::move(of)), interval(each), reader(std::move(with)) {}

  const std::string path;
  const std::chrono::nanoseconds interval;
  const Reader reader;

  Mutex mutex;
  CondVar changed;
  bool stopping GUARDED_BY(mutex) = false;
  bool ended GUARDED_BY(mutex) = false;
  std::optional<FileSystemSpace> space GUARDED_BY(mutex);
  MonotonicTime read_at GUARDED_BY(mutex){};

  void Loop() {
    while (ReadAndWait()) continue;
    MutexLock lock(mutex);
    ended = true;
    changed.NotifyAll();
  }

  // Reads once and waits for the interval. False when the thread shall end.
  bool ReadAndWait() {
    const auto read = reader(path);
    MutexLock lock(mutex);
    space = read.ok() && read->total_bytes > 0 ? std::optional(*read) : std::nullopt;
    read_at = SystemClock().Now();
    const auto next = std::chrono::steady_clock::now() + interval;
    while (!stopping) {
      if (!changed.WaitUntil(mutex, next)) return true;
    }
    return false;
  }

  // True when the thread has ended, false when a reading hangs.
  bool Stop() {
    const auto deadline = std::chrono::steady_clock::now() + kEndMax;
    MutexLock lock(mutex);
    stopping = true;
    changed.NotifyAll();
    while (!ended) {
      if (!changed.WaitUntil(mutex, deadline)) return ended;
    }
    return true;
  }
};

StorageSpace::StorageSpace(const std::string& path, std::chrono::nanoseconds interval,
                           Reader reader)
    : shared_(std::make_shared<Shared>(path, interval, std::move(reader))),
      thread_([shared = shared_] { shared->Loop(); }) {}

StorageSpace::~StorageSpace() {
  if (shared_->Stop()) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

std::optional<FileSystemSpace> StorageSpace::Newest() const {
  MutexLock lock(shared_->mutex);
  if (SystemClock().Now() - shared_->read_at > 3 * shared_->interval) return std::nullopt;
  return shared_->space;
}

}  // namespace gp::agent
