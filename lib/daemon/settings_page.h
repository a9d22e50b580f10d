// The text of --explain: describes a daemon's settings, as 'gpctl explain' describes run files.
// Pure functions; thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "daemon/setting.h"

namespace gp::daemon {

// One key ("server.listen"), the keys of a group ("server"), or all of them (""). REQUIRES: the
// slots hold the defaults. NotFound suggests the nearest key.
StatusOr<std::string> ExplainSettings(const std::string& program, const Settings& settings,
                                      const std::string& key);

}  // namespace gp::daemon
