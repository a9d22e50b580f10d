// Takes system calls away from this process that no training and no sampling makes, through
// seccomp.
#pragma once

#include "base/status.h"

namespace gp::confinement {

// From here on these calls answer EPERM in this process, in all of its threads and in those that
// follow: tracing and reading other processes, mounting, namespaces, kernel modules and keys, BPF,
// performance counters, io_uring, clocks, starting a program. Nothing can lift it. Unimplemented
// when the kernel has no seccomp filters. Sets no_new_privs.
Status DenySystemCalls();

// Whether the kernel has seccomp filters.
bool HasSystemCallFilters();

}  // namespace gp::confinement
