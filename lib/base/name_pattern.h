// NamePattern: splits a path into a literal name and a glob(7) pattern. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace gp {

// The pattern begins with the first part of the path that contains *, ? or [ and does not exist
// under exactly that name; everything before it is literal. In "exp [1]/*.txt" only the last part
// is a pattern if the folder "exp [1]" exists. So such characters in a real name, for example in
// the run file's own folder, match only that name.
struct NamePattern {
  std::string folder;   // "" or a prefix of the path that ends in '/'
  std::string pattern;  // the rest of the path; empty: the whole path is a name
};

// Looks up only parts with *, ? or [ in the file system.
NamePattern ReadNamePattern(const std::string& path);

// Returns the paths that match, sorted. Internal when a folder cannot be read.
// REQUIRES: the pattern is not empty.
StatusOr<std::vector<std::string>> MatchingPaths(const NamePattern& path);

}  // namespace gp
