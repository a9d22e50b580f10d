// The state directory of a daemon: a place that no other user can write, whose files no other user
// can read. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace gp::daemon {

// Makes the directory, for this user alone, when it is absent. Takes the permission to write in it
// from other users when it exists, and every permission on what is in it and begins with one of
// `names`; what these are is closed as a whole. Everything else in the directory stays as it is,
// because the directory may hold what is not gp's. PermissionDenied when other users can write
// there and this cannot be mended, as in /tmp.
Status PrepareStateDirectory(const std::string& directory, const std::vector<std::string>& names);

}  // namespace gp::daemon
