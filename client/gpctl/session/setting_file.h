// Settings of --set-file: a file with a line KEY=VALUE for each, like an environment file. Reads
// files; used by gpctl's main thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/gpctl/terminal/console.h"

namespace gp::gpctl {

// The settings of all files in their order, then `overrides`, so that --set wins. Empty lines and
// lines that begin with '#' are skipped. InvalidArgument names the line that is no setting.
StatusOr<std::vector<std::string>> SettingsOf(const std::vector<std::string>& files,
                                              const std::vector<std::string>& overrides,
                                              const Console& console);

}  // namespace gp::gpctl
