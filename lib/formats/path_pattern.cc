#include "formats/path_pattern.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file.h"
#include "base/name_pattern.h"

namespace gp::formats {
namespace {

StatusOr<std::vector<std::string>> Expand(const std::string& path, const std::string& key) {
  const NamePattern name = ReadNamePattern(path);
  if (name.pattern.empty()) return std::vector<std::string>{path};
  auto matched = MatchingPaths(name);
  if (!matched.ok()) return WithContext(matched.status(), key);
  if (matched->empty()) {
    return NotFound("{}: no file matches '{}'; check the pattern on the machine that trains", key,
                    path);
  }
  return matched;
}

// Whether the name refers to an open file of the process that reads it, and so to another file in
// another process.
bool IsOpenFileOfThisProcess(const std::string& path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/self/fd/") || path.starts_with("/proc/thread-self/fd/");
}

// Refuses files that cannot be read again: a run reads its data after every restart, and in another
// process than this check.
Status CheckKind(mode_t mode, const std::string& path, const std::string& key) {
  const char* kind = S_ISFIFO(mode)                   ? "a pipe"
                     : IsOpenFileOfThisProcess(path)  ? "a file descriptor of one process"
                     : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                     : S_ISSOCK(mode)                 ? "a socket"
                                                      : nullptr;
  if (kind == nullptr) return OkStatus();
  return InvalidArgument("{}: {} is {}; name a regular file, which a run can read again", key, path,
                         kind);
}

bool HasContent(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char first = 0;
  return file.valid() && read(file.get(), &first, 1) == 1;
}

Status CheckFile(const std::string& path, const std::string& key) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      const bool flag = key.starts_with("--");
      return NotFound(
          "{}: {} does not exist; put it there or mount its file system, or name another file, for "
          "example with {}{}FILE",
          key, path, flag ? key : "--set " + key, flag ? " " : "=");
    }
    return WithContext(ErrnoStatus(errno, "read", path), key);
  }
  if (S_ISDIR(info.st_mode)) {
    return InvalidArgument("{}: {} is a directory; name its files, for example {}/*.txt", key, path,
                           path);
  }
  RETURN_IF_ERROR(CheckKind(info.st_mode, path, key));
  if (info.st_size == 0 && HasContent(path)) {
    return InvalidArgument(
        "{}: {} reports size 0, as files under /proc and /sys do; copy it to a regular file", key,
        path);
  }
  if (info.st_size == 0) {
    return InvalidArgument("{}: {} is empty; name a file that has data", key, path);
  }
  return OkStatus();
}

}  // namespace

StatusOr<ExpandedPatterns> ExpandEachPattern(const std::vector<std::string>& patterns,
                                             const std::string& key) {
  ExpandedPatterns expanded;
  for (const std::string& pattern : patterns) {
    ASSIGN_OR_RETURN(const std::vector<std::string> matched, Expand(pattern, key));
    for (const std::string& path : matched) {
      RETURN_IF_ERROR(CheckFile(path, key));
      expanded.paths.push_back(path);
    }
    expanded.counts.push_back(std::ssize(matched));
  }
  return expanded;
}

StatusOr<std::vector<std::string>> ExpandPatterns(const std::vector<std::string>& patterns,
                                                  const std::string& key) {
  ASSIGN_OR_RETURN(ExpandedPatterns expanded, ExpandEachPattern(patterns, key));
  return std::move(expanded.paths);
}

}  // namespace gp::formats
