#include "base/private_path.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace gp {
namespace {

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

using Directory = std::unique_ptr<DIR, decltype([](DIR* directory) { closedir(directory); })>;

// Directories still to read. A tree may be deep, so this avoids recursion.
using Pending = std::vector<std::string>;

Status CloseOne(int parent, const char* name, const std::string& path, Pending& pending) {
  struct stat info {};
  if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? OkStatus() : ErrnoStatus(errno, "stat", path);
  }
  if (S_ISLNK(info.st_mode)) return OkStatus();
  if ((info.st_mode & kOthers) != 0 && fchmodat(parent, name, info.st_mode & 07700, 0) != 0 &&
      errno != ENOENT) {
    return ErrnoStatus(errno, "restrict access to", path);
  }
  if (S_ISDIR(info.st_mode)) pending.push_back(path);
  return OkStatus();
}

Status CloseEntries(const std::string& path, Pending& pending) {
  const Directory directory(opendir(path.c_str()));
  if (!directory) return errno == ENOENT ? OkStatus() : ErrnoStatus(errno, "open", path);
  while (const dirent* entry = readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    RETURN_IF_ERROR(CloseOne(dirfd(directory.get()), entry->d_name, JoinPath(path, name), pending));
  }
  return OkStatus();
}

}  // namespace

Status CloseToOthers(const std::string& path) {
  Pending pending;
  RETURN_IF_ERROR(CloseOne(AT_FDCWD, path.c_str(), path, pending));
  while (!pending.empty()) {
    const std::string next = std::move(pending.back());
    pending.pop_back();
    RETURN_IF_ERROR(CloseEntries(next, pending));
  }
  return OkStatus();
}

}  // namespace gp
