#include "daemon/state_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace gp::daemon {
namespace {

std::string Holder(int fd) {
  std::array<char, 32> text{};
  const ssize_t got = pread(fd, text.data(), text.size() - 1, 0);
  return got > 0 ? fmt::format(" (process {})", text.data()) : "";
}

Status WriteHolder(int fd, const std::string& path) {
  if (ftruncate(fd, 0) != 0) return ErrnoStatus(errno, "truncate", path);
  return WriteAll(fd, std::to_string(getpid()), path);
}

}  // namespace

StatusOr<StateLock> StateLock::Acquire(const std::string& directory, const std::string& name,
                                       const std::string& user) {
  const std::string path = JoinPath(directory, name);
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) return ErrnoStatus(errno, "open", path);
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, "lock", path);
    return FailedPrecondition(
        "state directory {} is in use by another {}{}; stop it, or give this one another "
        "--state-dir",
        directory, user, Holder(file.get()));
  }
  RETURN_IF_ERROR(WriteHolder(file.get(), path));
  return StateLock(std::move(file));
}

}  // namespace gp::daemon
