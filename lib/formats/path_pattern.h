// Expands the file names of a run file's data section. Reads directories; any thread may call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace gp::formats {

// The files that the patterns name, in the patterns' order and sorted within one. NotFound and
// InvalidArgument name the pattern, and `key` ("data.text") for the fix: no such file, a glob
// without a match, a directory, a pipe or a device, an empty file.
StatusOr<std::vector<std::string>> ExpandPatterns(const std::vector<std::string>& patterns,
                                                  const std::string& key);

// The files that ExpandPatterns returns, and how many of them each pattern names.
struct ExpandedPatterns {
  std::vector<std::string> paths;
  std::vector<int64_t> counts;
};
StatusOr<ExpandedPatterns> ExpandEachPattern(const std::vector<std::string>& patterns,
                                             const std::string& key);

}  // namespace gp::formats
