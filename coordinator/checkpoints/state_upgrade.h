// Checks a coordinator's state directory before the stores are opened: refuses a state of a newer
// version and backs an older one up (docs/operations/upgrade.md). The stores then migrate their own
// databases.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/state_lock.h"

namespace gp::coordinator {

// FailedPrecondition when a newer gp wrote one of the databases in `state_dir`; the message names
// the version of gp and the backups that this one reads. Skips a database that is damaged or
// absent; opening it reports the damage. Any other error is returned, since a database that cannot
// be read may be newer.
Status CheckNotNewer(const std::string& state_dir);

// Checks as above. If a database has an older version, copies the state to a new directory in
// <state_dir>/backups and returns its path; otherwise returns an empty text. The lock is that of
// `state_dir`: no other coordinator writes meanwhile. ResourceExhausted when the disk has no room
// for the copy; the state is unchanged.
StatusOr<std::string> BackUpOlderState(const std::string& state_dir, const daemon::StateLock& lock,
                                       const Clock& clock);

}  // namespace gp::coordinator
