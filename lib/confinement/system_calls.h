// Denies this process the system calls that neither training nor sampling needs, through seccomp.
#pragma once

#include "base/status.h"

namespace gp::confinement {

// From here on these calls fail with EPERM in this process, in all of its threads and in those that
// it starts later: tracing and reading other processes, mounting, namespaces, kernel modules and
// keys, BPF, performance counters, io_uring, setting clocks, starting a program. clone3 fails with
// ENOSYS, so that the C library uses clone, whose flags can be checked. This cannot be undone.
// Unimplemented when the kernel has no seccomp filters. Sets no_new_privs.
Status DenySystemCalls();

// Whether the kernel has seccomp filters.
bool HasSystemCallFilters();

}  // namespace gp::confinement
