#include "coordinator/store/state_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace gp::coordinator {
namespace {

std::string Holder(int fd) {
  char text[32] = {};
  const ssize_t got = pread(fd, text, sizeof text - 1, 0);
  return got > 0 ? fmt::format(" (process {})", text) : "";
}

}  // namespace

StatusOr<StateLock> StateLock::Acquire(const std::string& state_dir) {
  const std::string path = JoinPath(state_dir, "coordinator.lock");
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) return ErrnoStatus(errno, "open", path);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(file.get(), F_OFD_SETLK, &whole) != 0) {
    if (errno != EAGAIN && errno != EACCES) return ErrnoStatus(errno, "lock", path);
    return FailedPrecondition(
        "state directory {} is in use by another coordinator{}; stop it, or give this one another "
        "--state-dir",
        state_dir, Holder(file.get()));
  }
  const std::string pid = std::to_string(getpid());
  if (ftruncate(file.get(), 0) != 0) return ErrnoStatus(errno, "truncate", path);
  RETURN_IF_ERROR(WriteAll(file.get(), pid, path));
  return StateLock(std::move(file));
}

}  // namespace gp::coordinator
