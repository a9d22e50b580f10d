// Descriptions of the run file for people and editors. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gp::runspec {

// Text for `gpctl explain`: a key ("optimizer.lr", "run.optimizer.lr"), a group ("optimizer") or
// the whole file ("run" or ""). NotFound suggests the nearest key.
StatusOr<std::string> Explain(std::string_view path);

// The file's JSON Schema (draft 2020-12), for editors.
std::string JsonSchema();

// Every key's path, in the order of the file; for completion.
std::vector<std::string> SchemaPaths();

}  // namespace gp::runspec
