// Mutex, MutexLock and CondVar: wrappers of the standard types, annotated so that clang's
// -Wthread-safety can prove which lock guards what. Not absl::Mutex: Debian's prebuilt library is
// not instrumented, so ThreadSanitizer reports false races with it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define GP_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define GP_THREAD_ANNOTATION(x)
#endif

// Abseil still defines three of these names with the same meaning.
#undef GUARDED_BY
#undef PT_GUARDED_BY
#undef NO_THREAD_SAFETY_ANALYSIS

#define CAPABILITY(x) GP_THREAD_ANNOTATION(capability(x))
#define SCOPED_CAPABILITY GP_THREAD_ANNOTATION(scoped_lockable)
#define GUARDED_BY(x) GP_THREAD_ANNOTATION(guarded_by(x))
#define PT_GUARDED_BY(x) GP_THREAD_ANNOTATION(pt_guarded_by(x))
#define REQUIRES(...) GP_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) GP_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) GP_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define RELEASE(...) GP_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS GP_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace gp {

class CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ACQUIRE() { mutex_.lock(); }
  void Unlock() RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() RELEASE() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits are written as loops over the condition, so that the analysis sees the guarded reads:
//   while (!ready_) if (!changed_.WaitUntil(mutex_, deadline)) break;
class CondVar {
 public:
  void Wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // False once `deadline` (steady clock) has passed.
  bool WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point deadline) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool in_time = condition_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return in_time;
  }
  bool WaitFor(Mutex& mutex, std::chrono::nanoseconds timeout) REQUIRES(mutex) {
    return WaitUntil(mutex, std::chrono::steady_clock::now() + timeout);
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace gp
