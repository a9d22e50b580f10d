// Reading a daemon's settings from its three sources. Each later source wins: the file, the
// environment, the flags. Every problem is found at once, with its place and a way out. What is
// absent, `null`, or an empty environment variable leaves a setting as it is. Functions over a
// table; what they write are the slots of that table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/config_problem.h"
#include "daemon/setting.h"

namespace gp::daemon {

// `text` is the file's (YAML), `source` its name for messages.
std::vector<ConfigProblem> ReadSettingsFile(std::string_view text, const std::string& source,
                                            const Settings& settings);

// `environment` holds "NAME=value". A variable of this program that is no setting is left alone,
// because orchestrators make such variables too; `warnings` gets those that are nearly one.
std::vector<ConfigProblem> ReadSettingsEnvironment(const std::vector<std::string>& environment,
                                                   const std::string& program,
                                                   const Settings& settings,
                                                   std::vector<ConfigProblem>& warnings);

// One value given alone, in the words of `source`: "--listen".
std::vector<ConfigProblem> ReadSettingText(std::string_view text, const std::string& source,
                                           const Setting& setting);

// The required settings that no source gave. `config` names the settings file for the message.
std::vector<ConfigProblem> FindMissingSettings(const std::string& program,
                                               const Settings& settings);

}  // namespace gp::daemon
