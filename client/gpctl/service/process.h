// Starts programs that outlive this one, and distinguishes a process from a later one with the same
// number. Functions may be called from any thread; a child must be reaped by the process that
// started it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace gp::gpctl {

// A process, in a way that survives the reuse of process numbers: start_time is in clock ticks
// since boot.
struct ProcessIdentity {
  int pid = 0;
  uint64_t start_time = 0;
  std::string program;  // path of the executable

  bool operator==(const ProcessIdentity&) const = default;
};

// NotFound when there is no such process (a zombie counts as gone).
StatusOr<ProcessIdentity> IdentifyProcess(int pid);

// Whether this process still runs, not another one with its number.
bool IsAlive(const ProcessIdentity& identity);

// Whether `argument` is one of those that the process was started with.
bool HasArgument(int pid, const std::string& argument);

struct SpawnOptions {
  std::string program;
  std::vector<std::string> arguments;  // without the program
  std::string log_path;                // stdout and stderr are appended here; empty: inherited
};

// Starts `program` in its own session, with unblocked signals, an empty input and no other
// descriptors; its umask makes its files private to the user. When exec fails, the error says why,
// and no process is left.
StatusOr<ProcessIdentity> SpawnDetached(const SpawnOptions& options);

// Reaps children that have ended, so that none stays a zombie.
void ReapChildren();

// Sends SIGTERM, and SIGKILL when the process has not ended after `grace`. OK when it is gone;
// PermissionDenied when it belongs to another user; DeadlineExceeded when it exists 5 s after
// SIGKILL. It sends nothing when the number now belongs to another process. When `hurried` becomes
// true it sends SIGINT once: a second signal makes a daemon that is saving end at once. (Two
// signals of one kind may arrive as one.)
Status StopProcess(
    const ProcessIdentity& identity, std::chrono::milliseconds grace,
    const std::function<bool()>& hurried = [] { return false; });

// The same for several processes at the same time.
Status StopProcesses(
    const std::vector<ProcessIdentity>& identities, std::chrono::milliseconds grace,
    const std::function<bool()>& hurried = [] { return false; });

}  // namespace gp::gpctl
