// The grammar of JSON, for lines that simdjson refuses: it accepts no integers beyond 64 bits, no
// floats beyond double, and not the NaN and Infinity that Python's json.dumps writes. Pure
// function.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::corpus {

// `line` with 0 in place of every number, NaN, Infinity and -Infinity, so that any JSON parser
// accepts it. InvalidArgument has the column, in bytes from 1, where the line stops being JSON, the
// text there, and a fix if there is one. More than 1,024 nested lists and objects are refused.
StatusOr<std::string> WithoutNumbers(std::string_view line);

}  // namespace gp::corpus
