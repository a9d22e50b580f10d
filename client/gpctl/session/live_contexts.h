// Live contexts: contexts of the user's file whose service runs on this machine or is elsewhere.
// Reads files; no thread rules.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/session/context_file.h"
#include "client/gpctl/terminal/console.h"

namespace gp::gpctl {

// "running" or "stopped" for a service with a state directory ("stopped" also if it runs on another
// host), "remote" or "socket" for others, which are not contacted.
std::string ServiceWord(const Context& context);

// By name, without the one of `state_dir`. Unreadable files are ignored.
std::vector<std::string> LiveContexts(const Console& console, const std::string& state_dir);

// "; another service is there: 'gpctl context use local'" if there is one besides that of
// `state_dir`, else empty. Names at most five.
std::string OtherServiceText(const Console& console, const std::string& state_dir);

}  // namespace gp::gpctl
