// Counts the kills of the kernel's out-of-memory killer on the whole machine since boot. For a
// trainer without a control group of its own, the count shows whether a SIGKILL may have come from
// that killer; TrainerGroup counts the kills in its group. Thread-safe.
#pragma once

#include <cstdint>

namespace gp::agent {

// 0 when the kernel does not offer the count.
uint64_t OutOfMemoryKills();

}  // namespace gp::agent
