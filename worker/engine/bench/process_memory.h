// What the kernel says about this process's memory. Any thread may call.
#pragma once

#include <cstdint>

namespace gp::engine {

// The most that was ever resident.
int64_t PeakResidentBytes();

// Memory of the machine that could be taken without swapping.
int64_t AvailableMachineBytes();

}  // namespace gp::engine
