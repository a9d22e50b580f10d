#include "worker/agent/load/storage_space.h"

#include <sys/statvfs.h>

#include <thread>

#include "base/clock.h"
#include "base/mutex.h"

namespace gp::agent {

struct StorageSpace::Shared {
  Shared(std::string of, std::chrono::nanoseconds each) : path(std::move(of)), interval(each) {}

  const std::string path;
  const std::chrono::nanoseconds interval;

  Mutex mutex;
  CondVar changed;
  bool stopping GUARDED_BY(mutex) = false;
  std::optional<DiskSpace> space GUARDED_BY(mutex);
  MonotonicTime read_at GUARDED_BY(mutex){};

  void Loop() {
    while (true) {
      const auto read = ReadDiskSpace(path);
      MutexLock lock(mutex);
      space = read;
      read_at = SystemClock().Now();
      const auto next = std::chrono::steady_clock::now() + interval;
      while (!stopping) {
        if (!changed.WaitUntil(mutex, next)) break;
      }
      if (stopping) return;
    }
  }
};

std::optional<DiskSpace> ReadDiskSpace(const std::string& path) {
  struct statvfs told {};
  if (statvfs(path.c_str(), &told) != 0 || told.f_blocks == 0) return std::nullopt;
  return DiskSpace{.bytes = uint64_t{told.f_blocks} * told.f_frsize,
                   .free_bytes = uint64_t{told.f_bavail} * told.f_frsize};
}

StorageSpace::StorageSpace(const std::string& path, std::chrono::nanoseconds interval)
    : shared_(std::make_shared<Shared>(path, interval)) {
  std::thread([shared = shared_] { shared->Loop(); }).detach();
}

StorageSpace::~StorageSpace() {
  MutexLock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.NotifyAll();
}

std::optional<DiskSpace> StorageSpace::Newest() const {
  MutexLock lock(shared_->mutex);
  if (SystemClock().Now() - shared_->read_at > 3 * shared_->interval) return std::nullopt;
  return shared_->space;
}

}  // namespace gp::agent
