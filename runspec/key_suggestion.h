// The key that somebody probably meant. Pure function; thread-safe.
#pragma once

#include <string>

#include "runspec/field.h"

namespace gp::runspec {

// For a `path` that is none of `fields`: a key that other tools call so, a sibling spelled nearly
// so, the same last word in another group, or the nearest by spelling of all. Empty when nothing is
// near.
std::string SuggestKey(const std::string& path, const Fields& fields);

}  // namespace gp::runspec
