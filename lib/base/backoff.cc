#include "base/backoff.h"

#include <algorithm>
#include <cmath>

namespace gp {

std::chrono::nanoseconds BackoffCeiling(const BackoffOptions& options, int attempt) {
  const double grown = static_cast<double>(options.initial.count()) *
                       std::pow(options.multiplier, std::clamp(attempt, 0, 60));
  const double capped = std::min(grown, static_cast<double>(options.max.count()));
  return std::chrono::nanoseconds(static_cast<long long>(capped));
}

std::chrono::nanoseconds BackoffDelay(const BackoffOptions& options, int attempt,
                                      double unit_random) {
  const double ceiling = static_cast<double>(BackoffCeiling(options, attempt).count());
  return std::chrono::nanoseconds(static_cast<long long>(ceiling * (0.5 + 0.5 * unit_random)));
}

}  // namespace gp
