// NamedFile: a file, directory or pattern that a run file names. Pure functions; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "plan/run_spec.h"

namespace gp::runspec {

struct NamedFile {
  std::string key;   // "data.text"
  std::string path;  // as in the run file
};

// In the order of the schema, init_from first.
std::vector<NamedFile> FilesNamedBy(const RunSpec& spec);

}  // namespace gp::runspec
