// The process that started this one. Called by main, before other threads exist.
#pragma once

namespace gp {

// From now on the kernel sends SIGKILL to this process when the *thread* that started it ends,
// which is at the latest when the parent process ends. False when the parent ended during the call,
// or when prctl fails. A parent that ended before the call is not noticed: this process then
// already has another parent, so the program that starts it must check (daemon/child_process.cc
// does).
bool DieWithParent();

}  // namespace gp
