// Counts the kills of the kernel's out-of-memory killer on the whole machine since boot. It
// distinguishes such a SIGKILL from another for trainers without a control group of their own;
// TrainerGroup counts the kills in its group. Thread-safe.
#pragma once

#include <cstdint>

namespace gp::agent {

// 0 when the kernel does not offer the count.
uint64_t OutOfMemoryKills();

}  // namespace gp::agent
