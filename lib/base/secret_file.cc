#include "base/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"

namespace gp {
namespace {

constexpr mode_t kReachedByOthers = S_IRWXG | S_IRWXO;

// Whether the file belongs to root and to this process's group, and that group is not root's.
bool IsGivenByRoot(const struct stat& info) {
  return info.st_uid == 0 && info.st_gid == getegid() && info.st_gid != 0;
}

Status CheckPrivate(const struct stat& info, const std::string& path) {
  if (!S_ISREG(info.st_mode)) return InvalidArgument("{} is not a regular file", path);
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    return PermissionDenied("{} belongs to user {}, who can read it; its owner must be user {}",
                            path, info.st_uid, geteuid());
  }
  const mode_t allowed = IsGivenByRoot(info) ? S_IRGRP : 0;
  if ((info.st_mode & kReachedByOthers & ~allowed) != 0) {
    return PermissionDenied(
        "{} has mode {:04o}: other users can access this secret; make a new one, or run chmod 600 "
        "{} if no other user has read it",
        path, info.st_mode & 07777, path);
  }
  return OkStatus();
}

}  // namespace

Status MakeSecretDirectory(const std::string& directory) {
  RETURN_IF_ERROR(MakeDirectories(directory, 0700));
  if (chmod(directory.c_str(), 0700) == 0) return OkStatus();
  return ErrnoStatus(errno, "restrict access to", directory);
}

Status WriteSecretFile(const std::string& path, std::string_view text) {
  return WriteFileAtomically(path, text, 0600);
}

StatusOr<std::string> ReadSecretFile(const std::string& path, uint64_t size_bytes_max) {
  // O_NONBLOCK: a FIFO is refused instead of waited for.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, "open", path);
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "stat", path);
  RETURN_IF_ERROR(CheckPrivate(info, path));
  std::string data(size_bytes_max + 1, '\0');
  size_t filled = 0;
  while (filled < data.size()) {
    const ssize_t got = read(file.get(), data.data() + filled, data.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read", path);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  if (filled > size_bytes_max) {
    return InvalidArgument("{} has more than {} bytes; a secret is shorter", path, size_bytes_max);
  }
  data.resize(filled);
  return data;
}

}  // namespace gp
