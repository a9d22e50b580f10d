// The process that started this one. Called by main or after fork, before other threads exist.
#pragma once

#include <sys/types.h>

namespace gp {

// From now on the kernel sends SIGKILL to this process when the *thread* that started it ends,
// which is at the latest when the parent process ends. False when the parent is not `parent`, the
// number that getpid() returned before the fork: then it has ended. False also when prctl fails.
bool DieWithParent(pid_t parent);

// The same for a program, which does not know its parent's number. A parent that ended before the
// call is not noticed: this process then already has another parent, so the program that starts it
// must check (daemon/child_process.cc does).
bool DieWithParent();

}  // namespace gp
