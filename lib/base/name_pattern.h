// NamePattern: splits a path into a literal name and a glob(7) pattern. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace gp {

// A path is literal as far as its folders, and finally the file, exist by that very name: in "exp
// [1]/*.txt" only the last part is a pattern if the folder "exp [1]" exists. So pattern characters
// in a name, such as the run file's own folder, match nothing else.
struct NamePattern {
  std::string folder;   // "" or a prefix of the path that ends in '/'
  std::string pattern;  // the rest of the path; empty: the whole path is a name
};

// Asks the file system about parts with *, ? or [ in them only.
NamePattern ReadNamePattern(const std::string& path);

// Returns the paths that match, sorted. Internal when a folder cannot be read.
// REQUIRES: the pattern is not empty.
StatusOr<std::vector<std::string>> MatchingPaths(const NamePattern& path);

}  // namespace gp
