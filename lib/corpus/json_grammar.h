// The grammar of JSON, for lines that simdjson does not take: it refuses integers beyond 64 bits,
// floats beyond double, and the NaN and Infinity that Python's json.dumps writes. Pure function.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::corpus {

// `line` with 0 in place of every number, NaN, Infinity and -Infinity, so that any parser of JSON
// takes it. InvalidArgument has the column, in bytes from 1, where the line stops being JSON, what
// stands there, and the way out where there is one. Deeper than 1,024 lists and objects is refused.
StatusOr<std::string> WithoutNumbers(std::string_view line);

}  // namespace gp::corpus
