// Counts the kills of the kernel's out-of-memory killer since boot. Only this count distinguishes
// its SIGKILL from another. Thread-safe.
#pragma once

#include <cstdint>

namespace gp::agent {

// 0 when the kernel does not offer the count.
uint64_t OutOfMemoryKills();

}  // namespace gp::agent
