// StateLock: at most one process uses a directory, on any host and in any container. It is a lock
// on a file in the directory; the kernel releases it when the process ends, also by a crash. The
// file names the holder (lock_holder.h) while the lock is held. Any thread of the holder may
// release it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/status.h"
#include "daemon/lock_holder.h"

namespace gp::daemon {

// The names of the lock files in the state directories of a coordinator and of an agent.
inline constexpr char kCoordinatorLockName[] = "coordinator.lock";
inline constexpr char kAgentLockName[] = "lock";
// In a storage root: held by the coordinator whose runs are there.
inline constexpr char kStorageLockName[] = ".gp-lock";

class StateLock {
 public:
  // Locks the file `name` in `directory`, which exists. FailedPrecondition names the directory,
  // `user` ("another gp-worker") and the process that holds the lock: where it runs and since when.
  // Also FailedPrecondition if the holder is on another host, has not released the lock, and the
  // file system does not share locks between hosts, because this host then cannot tell whether the
  // holder still runs.
  static StatusOr<StateLock> Acquire(const std::string& directory, const std::string& name,
                                     const std::string& user);

  // Like the function above, but for a storage root, which several hosts share, and without the
  // last check: if the file system does not share locks, a holder on another host does not block
  // this one, because it may have died with its host.
  static StatusOr<StateLock> AcquireStorage(const std::string& root, const std::string& user);

  // The process that holds the lock now; nullopt when none does.
  static std::optional<LockHolder> HolderOf(const std::string& directory, const std::string& name);

  StateLock(StateLock&&) = default;
  StateLock& operator=(StateLock&&) = default;
  // Empties the file to mark it as released. The file of a storage root is open read-only and keeps
  // the holder's name.
  ~StateLock();

 private:
  explicit StateLock(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

// Whether a lock on the file system `device` is invisible to other hosts that may have it mounted.
// `mounts` is the text of /proc/self/mountinfo.
bool LocksStayOnHost(std::string_view mounts, dev_t device);

}  // namespace gp::daemon
