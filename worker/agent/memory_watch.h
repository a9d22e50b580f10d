// How often the kernel's out-of-memory killer struck since boot; the only trace that tells its
// SIGKILL from another. Thread-safe.
#pragma once

#include <cstdint>

namespace gp::agent {

// 0 where the kernel does not tell.
uint64_t OutOfMemoryKills();

}  // namespace gp::agent
