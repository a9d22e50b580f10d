// Paths that only their owner may reach. Thread-safe.
#pragma once

#include <string>

#include "base/status.h"

namespace gp {

// Removes all permissions of the group and of others from `path` and, if it is a directory, from
// everything below it. Symbolic links are neither followed nor changed. OK when `path` does not
// exist, and when a file disappears meanwhile. Stops at the first error.
Status CloseToOthers(const std::string& path);

}  // namespace gp
