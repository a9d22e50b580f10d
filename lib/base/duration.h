// Durations as people write them: "250ms", "90s", "5m", "1h30m", "2d".
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gp {

// Accepts one or more <number><unit> pairs with units ms, s, m, h, d; numbers may have a fraction.
// Otherwise InvalidArgument shows the text and valid examples. Negative durations and those above
// 9e18 ns (about 285 years) are refused.
StatusOr<std::chrono::nanoseconds> ParseDuration(std::string_view text);

// At most two units, largest first, for people: "412ms", "9.4s", "3m12s", "1h03m", "2d04h".
std::string FormatDuration(std::chrono::nanoseconds duration);

}  // namespace gp
