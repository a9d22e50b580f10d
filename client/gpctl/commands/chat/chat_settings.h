// The settings that /commands of a chat change: their names, limits and values. Pure functions;
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/gpctl/commands/models/sample.h"

namespace gp::gpctl {

// A line that begins with one '/'. A line that begins with "//" is a text that begins with '/'.
struct ChatCommand {
  std::string name;      // without the slash
  std::string argument;  // without spaces around it; may be empty
};
// REQUIRES: `line` begins with '/'.
ChatCommand ParseChatCommand(const std::string& line);

// The names that SetChatSetting takes: "temperature", "seed", …
std::vector<std::string> ChatSettingNames();
// InvalidArgument says which values the setting takes. NotFound: there is no such setting.
Status SetChatSetting(const ChatCommand& command, SampleOptions& options);
// "temperature 0.8   top-k 50   …"
std::string ChatSettingsText(const SampleOptions& options);

}  // namespace gp::gpctl
