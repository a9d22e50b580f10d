// Live contexts: those of the user's file that lead to a service: one that runs on this machine, or
// one elsewhere. Reads files; no thread rules.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/session/context_file.h"
#include "client/gpctl/terminal/console.h"

namespace gp::gpctl {

// "running" or "stopped" for a service of this machine, "remote" or "socket" for one that nobody
// has asked.
std::string ServiceWord(const Context& context);

// By name, without the one of `state_dir`. Files that cannot be read count for nothing.
std::vector<std::string> LiveContexts(const Console& console, const std::string& state_dir);

// "; another service is there: 'gpctl context use local'" when there is one beside that of
// `state_dir`, else empty.
std::string OtherServiceText(const Console& console, const std::string& state_dir);

}  // namespace gp::gpctl
