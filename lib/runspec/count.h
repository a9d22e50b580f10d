// Counts as people write them: 2000, 50_000, 0.5M, 10B, 1e6, 2^19. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gp::runspec {

// The whole number in `text`; nullopt if there is none or it does not fit. Suffixes are powers of
// 1000: k, M, B (or G), T; underscores separate digits; a number with a fraction or exponent must
// have a whole value.
std::optional<int64_t> ParseCount(std::string_view text);

}  // namespace gp::runspec
