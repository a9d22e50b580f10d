// What the kernel says about this process's memory. Any thread may call.
#pragma once

#include <cstdint>

namespace gp::engine {

// The most that was ever resident.
int64_t PeakResidentBytes();

}  // namespace gp::engine
