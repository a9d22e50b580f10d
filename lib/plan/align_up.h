// AlignUp: the next multiple, for sizes and offsets of memory plans.
#pragma once

#include <cstdint>

namespace gp::runspec {

// The smallest multiple of `multiple` that is not less than `value`; both at least 0, `multiple`
// not 0.
constexpr int64_t AlignUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace gp::runspec
