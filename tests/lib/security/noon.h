// A fixed time for tests of certificates. Constants; thread-safe.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace gp::security {

inline constexpr std::chrono::hours kDay{24};
// Noon on a day in 2019.
inline constexpr WallTime kNoon{std::chrono::hours(24 * 365 * 50 + 12)};

}  // namespace gp::security
