// Suggests the key that a wrong path probably means. Pure function; thread-safe.
#pragma once

#include <string>

#include "runspec/field.h"

namespace gp::runspec {

// For a `path` that is not in `fields`, in this order: a key of the same group that has this name
// in other tools; a key of the same group with a similar spelling; a key with the same last word in
// another group; a key of any group that has this name in other tools; the most similar key of all.
// Empty when nothing is similar.
std::string SuggestKey(const std::string& path, const Fields& fields);

}  // namespace gp::runspec
