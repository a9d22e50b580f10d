// Reading a daemon's settings from its three sources. Each later source wins: the file, the
// environment, the flags. All problems are reported at once, each with its place and a fix. A key
// that is absent or `null`, and an empty environment variable, leave a setting as it is. The
// functions take the table of settings and write to its slots.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/config_problem.h"
#include "daemon/setting.h"

namespace gp::daemon {

// `text` is the file's content (YAML), `source` its name for messages.
std::vector<ConfigProblem> ReadSettingsFile(std::string_view text, const std::string& source,
                                            const Settings& settings);

// `environment` holds "NAME=value". A variable with this program's prefix that is not a setting is
// ignored, because orchestrators set such variables too. `warnings` lists those that look like a
// misspelt setting.
std::vector<ConfigProblem> ReadSettingsEnvironment(const std::vector<std::string>& environment,
                                                   const std::string& program,
                                                   const Settings& settings,
                                                   std::vector<ConfigProblem>& warnings);

// Reads one value; messages call it `source`: "--listen".
std::vector<ConfigProblem> ReadSettingText(std::string_view text, const std::string& source,
                                           const Setting& setting);

// A problem for each required setting that no source gave. `program` is the daemon's name, for the
// environment variable in the hint.
std::vector<ConfigProblem> FindMissingSettings(const std::string& program,
                                               const Settings& settings);

}  // namespace gp::daemon
