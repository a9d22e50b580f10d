// Student's distribution, for intervals around means of few values. Pure function; thread-safe.
#pragma once

#include <cstdint>

namespace gp::client {

// The 97.5 % quantile. Between two entries of its table it is that of fewer degrees of freedom,
// which is larger. REQUIRES: at least one degree of freedom.
double StudentQuantile(int64_t degrees_of_freedom);

}  // namespace gp::client
