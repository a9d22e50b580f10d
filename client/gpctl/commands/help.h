// The texts of `gpctl` and `gpctl help TOPIC`. Pure functions; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/command_line.h"
#include "client/gpctl/terminal/console.h"

namespace gp::gpctl {

// The output of plain `gpctl`: the commands by group, in order, and the topics.
std::string MainHelp(Command program);

// Help for the terminal of `console`: lines that are too long go on below their text.
std::string FittedHelp(const std::string& text, const Console& console);

std::vector<std::string> HelpTopics();
// Empty for an unknown topic.
std::string HelpTopic(const std::string& topic);

}  // namespace gp::gpctl
