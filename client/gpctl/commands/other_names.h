// What commands of other tools are called here, for people who type kubectl's, docker's, git's or
// W&B's words. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

namespace gp::gpctl {

// For an unknown command: "gpctl cancel RUN ends a run, …"; "" if no other tool has this command,
// or if `commands` has none of gpctl's equivalents.
std::string CalledHere(const std::string& word, const std::vector<std::string>& commands);

}  // namespace gp::gpctl
