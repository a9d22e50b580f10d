// Process: starting programs that outlive this one, and telling a process from another that got its
// number later. Functions may be called from any thread; a child must be reaped by the process that
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

// The very process of `identity` still runs.
bool IsAlive(const ProcessIdentity& identity);

struct SpawnOptions {
  std::string program;
  std::vector<std::string> arguments;  // without the program
  std::string log_path;                // stdout and stderr are appended here; empty: inherited
};

// Starts `program` in a session of its own, with default signals, /dev/null as its input and no
// other descriptors; the files it makes are for its user alone. When exec fails the error says why
// and no process is left.
StatusOr<ProcessIdentity> SpawnDetached(const SpawnOptions& options);

// Collects the ends of children, so that none stays a zombie.
void ReapChildren();

// SIGTERM, and SIGKILL when it has not ended after `grace`. OK when it is gone; PermissionDenied
// when it is another user's. A process that is not `identity` any more is not touched. Once
// `hurried` is true, SIGINT follows: the second signal tells a daemon that saves what it has to end
// at once. (Two equal signals may become one.)
Status StopProcess(
    const ProcessIdentity& identity, std::chrono::milliseconds grace,
    const std::function<bool()>& hurried = [] { return false; });

// The same for several, all at a time.
Status StopProcesses(
    const std::vector<ProcessIdentity>& identities, std::chrono::milliseconds grace,
    const std::function<bool()>& hurried = [] { return false; });

}  // namespace gp::gpctl
