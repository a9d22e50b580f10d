// The kernel's figures about this process's memory. Any thread may call.
#pragma once

#include <cstdint>

namespace gp::engine {

// The largest resident size so far.
int64_t PeakResidentBytes();

}  // namespace gp::engine
