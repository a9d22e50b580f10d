// A rename that survives a crash. May be called from any thread.
#pragma once

#include <string>

#include "base/status.h"

namespace gp {

// Renames the file or directory `from` to `to`, replacing a file of that name, and syncs the
// directory of `to` (not that of `from`, if it is another). The content of `from` must be durable
// before. Errors name `to`. When rename fails, both stay as they were; when only the sync fails,
// the rename has happened but may not survive a crash.
Status RenameDurably(const std::string& from, const std::string& to);

}  // namespace gp
