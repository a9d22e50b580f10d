#include "formats/path_pattern.h"

#include <glob.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace gp::formats {
namespace {

bool IsGlob(const std::string& pattern) {
  return pattern.find_first_of("*?[") != std::string::npos;
}

// glob(3) sorts its matches.
StatusOr<std::vector<std::string>> Matches(const std::string& pattern, const std::string& key) {
  glob_t found{};
  const int result = glob(pattern.c_str(), GLOB_ERR, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (result == 0) return paths;
  if (result == GLOB_NOMATCH) {
    return NotFound(
        "{}: no file matches '{}'; check the pattern, it is read on the machine that trains", key,
        pattern);
  }
  return Internal("{}: a directory of '{}' cannot be read", key, pattern);
}

Status CheckFile(const std::string& path, const std::string& key) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return NotFound(
          "{}: {} does not exist; name an existing file, for example with --set {}=FILE", key, path,
          key);
    }
    return WithContext(ErrnoStatus(errno, "read", path), key);
  }
  if (S_ISDIR(info.st_mode)) {
    return InvalidArgument("{}: {} is a directory; name its files, for example {}/*.txt", key, path,
                           path);
  }
  if (info.st_size == 0) {
    return InvalidArgument("{}: {} is empty; there is nothing to learn from it", key, path);
  }
  return OkStatus();
}

}  // namespace

StatusOr<ExpandedPatterns> ExpandEachPattern(const std::vector<std::string>& patterns,
                                             const std::string& key) {
  ExpandedPatterns expanded;
  for (const std::string& pattern : patterns) {
    std::vector<std::string> matched = {pattern};
    if (IsGlob(pattern)) {
      ASSIGN_OR_RETURN(matched, Matches(pattern, key));
    }
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
