#include "base/name_pattern.h"

#include <glob.h>
#include <sys/stat.h>

#include <cerrno>
#include <string_view>

namespace gp {
namespace {

bool HasWildcard(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

bool Exists(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0;
}

// Escapes `name`, so that as a glob(3) pattern it matches only itself.
std::string EscapedPattern(std::string_view name) {
  std::string escaped;
  for (const char c : name) {
    if (std::string_view("\\*?[]").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// The error callback of glob(3): 1 stops at a folder that cannot be read; a missing folder is
// skipped.
int StopsAt(const char*, int error_number) {
  return error_number == ENOENT || error_number == ENOTDIR ? 0 : 1;
}

}  // namespace

NamePattern ReadNamePattern(const std::string& path) {
  size_t begin = 0;
  while (begin < path.size()) {
    const size_t slash = path.find('/', begin);
    const size_t end = slash == std::string::npos ? path.size() : slash;
    const std::string_view part = std::string_view(path).substr(begin, end - begin);
    if (HasWildcard(part) && !Exists(path.substr(0, end))) break;
    begin = slash == std::string::npos ? path.size() : slash + 1;
  }
  if (begin >= path.size()) return {.folder = path};
  return {.folder = path.substr(0, begin), .pattern = path.substr(begin)};
}

StatusOr<std::vector<std::string>> MatchingPaths(const NamePattern& path) {
  glob_t found{};
  const std::string pattern = EscapedPattern(path.folder) + path.pattern;
  const int result = glob(pattern.c_str(), 0, &StopsAt, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (result == 0 || result == GLOB_NOMATCH) return paths;
  return Internal("a directory of '{}{}' cannot be read", path.folder, path.pattern);
}

}  // namespace gp
