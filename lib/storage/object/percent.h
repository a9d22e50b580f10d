// Percent-encoding as S3 signs it: every byte except letters, digits and "-._~" is written as %XX
// with upper-case digits. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::object {

// A name or value of a query.
std::string EncodePart(std::string_view text);
// A path: its slashes stay.
std::string EncodePath(std::string_view path);
// InvalidArgument for a '%' without two hexadecimal digits. '+' stays '+'.
StatusOr<std::string> Decode(std::string_view text);

}  // namespace gp::object
