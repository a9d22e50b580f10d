#include "daemon/state_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <sstream>
#include <utility>

namespace gp::daemon {
namespace {

LockHolder HolderIn(int fd) {
  std::array<char, 1024> text{};
  const ssize_t got = pread(fd, text.data(), text.size(), 0);
  return got > 0 ? LockHolder::Parse({text.data(), static_cast<size_t>(got)}) : LockHolder();
}

// Whether the holder ran on this machine, in the same container, and has ended.
bool HasEnded(const LockHolder& holder) {
  if (holder.IsElsewhere(LockHolder::Self(SystemClock()))) return false;
  return kill(holder.pid, 0) != 0 && errno == ESRCH;
}

Status WriteHolder(int fd, const LockHolder& holder, const std::string& path) {
  if (ftruncate(fd, 0) != 0) return ErrnoStatus(errno, "truncate", path);
  return WriteAll(fd, holder.FileText(), path);
}

// Whether `path` still refers to the open file. Its directory may have been deleted meanwhile.
bool IsAt(int fd, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return fstat(fd, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// `what` is "state directory" or "storage root"; `flag` is the flag that sets it.
Status InUse(const char* what, const char* flag, const std::string& directory,
             const std::string& user, const LockHolder& holder, const LockHolder& self) {
  const std::string who = holder.pid == 0 ? "" : fmt::format(" ({})", holder.Description(self));
  return FailedPrecondition("{} {} is in use by {}{}; stop it{}, or give this one another {}", what,
                            directory, user, who, holder.IsElsewhere(self) ? " there" : "", flag);
}

// An error if getting the lock does not prove that the last holder has ended, because that holder
// is on another host and the file system does not share locks between hosts.
Status CheckLastHolder(int fd, const std::string& directory, const std::string& path,
                       const LockHolder& self) {
  const LockHolder last = HolderIn(fd);
  struct stat info {};
  if (last.pid == 0 || !last.IsOnAnotherHost(self) || fstat(fd, &info) != 0) return OkStatus();
  if (!LocksStayOnHost(ReadFile("/proc/self/mountinfo").value_or(""), info.st_dev)) {
    return OkStatus();
  }
  return FailedPrecondition(
      "state directory {} was last used by {}, which has not released it; this file system does "
      "not share locks between hosts, so gp cannot see whether that process still runs; stop it "
      "there, or remove {} if it has ended",
      directory, last.Description(self), path);
}

struct LockFile {
  FileDescriptor file;
  bool locked = false;  // by this process; false: another one holds it
};

// `access` is O_RDWR or O_RDONLY.
StatusOr<LockFile> OpenAndLock(const std::string& path, int access) {
  while (true) {
    FileDescriptor file(open(path.c_str(), access | O_CREAT | O_CLOEXEC, 0600));
    if (!file.valid()) return ErrnoStatus(errno, "open", path);
    const bool locked = flock(file.get(), LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno != EWOULDBLOCK) return ErrnoStatus(errno, "lock", path);
    if (!locked || IsAt(file.get(), path)) return LockFile{std::move(file), locked};
  }
}

bool StaysOnHost(const std::string& type, const std::string& options) {
  for (const char* local : {"fuse", "9p", "virtiofs"}) {
    if (type.starts_with(local)) return true;
  }
  std::istringstream list(options);
  for (std::string option; std::getline(list, option, ',');) {
    for (const char* local : {"nolock", "local_lock=all", "local_lock=flock", "localflock"}) {
      if (option == local) return true;
    }
  }
  return false;
}

}  // namespace

StatusOr<StateLock> StateLock::Acquire(const std::string& directory, const std::string& name,
                                       const std::string& user) {
  const std::string path = JoinPath(directory, name);
  const LockHolder self = LockHolder::Self(SystemClock());
  ASSIGN_OR_RETURN(LockFile lock, OpenAndLock(path, O_RDWR));
  const int fd = lock.file.get();
  if (!lock.locked) {
    return InUse("state directory", "--state-dir", directory, user, HolderIn(fd), self);
  }
  RETURN_IF_ERROR(CheckLastHolder(fd, directory, path, self));
  RETURN_IF_ERROR(WriteHolder(fd, self, path));
  return StateLock(std::move(lock.file));
}

StatusOr<StateLock> StateLock::AcquireStorage(const std::string& root, const std::string& user) {
  const std::string path = JoinPath(root, kStorageLockName);
  const LockHolder self = LockHolder::Self(SystemClock());
  // Opens the file read-only, because a file open for writing prevents a read-only remount of the
  // file system. NFS locks only files that are open for writing.
  auto opened = OpenAndLock(path, O_RDONLY);
  if (!opened.ok()) opened = OpenAndLock(path, O_RDWR);
  RETURN_IF_ERROR(opened.status());
  LockFile& lock = *opened;
  if (!lock.locked) {
    return InUse("storage root", "--storage-root", root, user, HolderIn(lock.file.get()), self);
  }
  const FileDescriptor writer(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!writer.valid()) return ErrnoStatus(errno, "open", path);
  RETURN_IF_ERROR(WriteHolder(writer.get(), self, path));
  return StateLock(std::move(lock.file));
}

std::optional<LockHolder> StateLock::HolderOf(const std::string& directory,
                                              const std::string& name) {
  const std::string path = JoinPath(directory, name);
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  const LockHolder holder = HolderIn(file.get());
  if (holder.pid == 0 || HasEnded(holder)) return std::nullopt;
  // This check comes last, because it takes the lock for a moment if the lock is free.
  if (flock(file.get(), LOCK_SH | LOCK_NB) == 0) return std::nullopt;
  return holder;
}

StateLock::~StateLock() {
  if (file_.valid()) (void)!ftruncate(file_.get(), 0);
}

bool LocksStayOnHost(std::string_view mounts, dev_t device) {
  const std::string wanted = fmt::format("{}:{}", major(device), minor(device));
  std::istringstream lines{std::string(mounts)};
  for (std::string line; std::getline(lines, line);) {
    // proc(5): "36 35 98:0 /root /mount options optional… - type source options"
    const size_t separator = line.find(" - ");
    if (separator == std::string::npos) continue;
    std::istringstream head(line), tail(line.substr(separator + 3));
    std::string id, parent, at, type, source, options;
    head >> id >> parent >> at;
    tail >> type >> source >> options;
    if (at == wanted) return StaysOnHost(type, options);
  }
  return false;
}

}  // namespace gp::daemon
