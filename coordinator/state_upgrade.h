// What happens to a coordinator's state directory before a newer version of gp changes it: a state
// of a newer version is refused, an older one is backed up (docs/operations/upgrade.md). The stores
// migrate their own databases when they are opened, which comes after this.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/state_lock.h"

namespace gp::coordinator {

// FailedPrecondition when a newer gp wrote one of the databases in `state_dir`; the message names
// the version of gp and the backups that this one reads. A database that is damaged or absent is
// left to whoever opens it.
Status CheckNotNewer(const std::string& state_dir);

// Checks as above. If a database has an older version, copies the state to a new directory in
// <state_dir>/backups and returns its path; otherwise returns an empty text. The lock is that of
// `state_dir`: no other coordinator writes meanwhile. ResourceExhausted when the disk has no room
// for the copy; the state is as it was.
StatusOr<std::string> BackUpOlderState(const std::string& state_dir, const daemon::StateLock& lock,
                                       const Clock& clock);

}  // namespace gp::coordinator
