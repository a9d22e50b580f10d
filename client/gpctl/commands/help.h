// The texts of `gpctl` and `gpctl help TOPIC`. Pure functions; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/command_line.h"

namespace gp::gpctl {

// The output of plain `gpctl`: the commands by group, in order, and the topics.
std::string MainHelp(Command program);

std::vector<std::string> HelpTopics();
// Empty for an unknown topic.
std::string HelpTopic(const std::string& topic);

}  // namespace gp::gpctl
