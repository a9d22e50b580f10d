#include "daemon/state_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "base/private_path.h"

namespace gp::daemon {
namespace {

constexpr mode_t kWrittenByOthers = S_IWGRP | S_IWOTH;

Status CloseForWriting(const std::string& directory) {
  struct stat info {};
  if (stat(directory.c_str(), &info) != 0) return ErrnoStatus(errno, "stat", directory);
  if ((info.st_mode & kWrittenByOthers) == 0) return OkStatus();
  // A directory with the sticky bit, such as /tmp, is shared on purpose.
  const bool own = info.st_uid == geteuid() && (info.st_mode & S_ISVTX) == 0;
  if (!own) {
    return PermissionDenied(
        "state directory {} can be written by other users (mode {:04o}, owner {}); use a directory "
        "that only its owner can write",
        directory, info.st_mode & 07777, info.st_uid);
  }
  if (chmod(directory.c_str(), info.st_mode & 07777 & ~kWrittenByOthers) != 0) {
    return ErrnoStatus(errno, "restrict access to", directory);
  }
  return OkStatus();
}

}  // namespace

Status PrepareStateDirectory(const std::string& directory, const std::vector<std::string>& names) {
  RETURN_IF_ERROR(WithContext(MakeDirectories(directory, 0700), "state directory"));
  RETURN_IF_ERROR(CloseForWriting(directory));
  ASSIGN_OR_RETURN(const auto entries, ListDirectory(directory));
  for (const std::string& entry : entries) {
    const auto begins = [&](const std::string& name) { return entry.starts_with(name); };
    if (std::none_of(names.begin(), names.end(), begins)) continue;
    RETURN_IF_ERROR(WithContext(CloseToOthers(JoinPath(directory, entry)), "state directory"));
  }
  return OkStatus();
}

}  // namespace gp::daemon
