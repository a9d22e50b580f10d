// The key of a run file that somebody probably meant. Pure function; thread-safe.
#pragma once

#include <string>

namespace gp::runspec {

// For an unknown `path`: a key that other tools call so, a sibling spelled nearly so, the same last
// word in another group, or the nearest by spelling of all. Empty when nothing is near.
std::string SuggestKey(const std::string& path);

}  // namespace gp::runspec
