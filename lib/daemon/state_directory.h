// The state directory of a daemon: a place that no other user can write, whose files no other user
// can read. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace gp::daemon {

// Creates the directory with mode 0700 if it is absent. If it exists, removes other users'
// permission to write in it, and all their permissions on its entries that begin with one of
// `names`, recursively. Other entries stay as they are, because the directory may hold other
// programs' files. PermissionDenied when other users can write there and this cannot be fixed, as
// in /tmp.
Status PrepareStateDirectory(const std::string& directory, const std::vector<std::string>& names);

}  // namespace gp::daemon
