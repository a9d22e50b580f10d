// BackUpState and RestoreState: the coordinator's state directory, copied while it is in use, and
// put back on this machine or another (docs/operations/backup-restore.md). What `gp-coordinator
// --backup` and `--restore` do; called by main's thread, before others exist.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/status.h"

namespace gp::coordinator {

// Copies the state to `target`, which does not exist and is there only when the copy is whole. Each
// database is copied as it was at one moment; logs of runs are older than the decisions about them,
// and the audit log is newer. A coordinator may be running. Returns what to print. NotFound when
// `state_dir` holds no state, AlreadyExists when `target` exists, FailedPrecondition when the state
// belongs to another user.
StatusOr<std::string> BackUpState(const std::string& state_dir, const std::string& target,
                                  const Clock& clock);

struct Restore {
  std::string state_dir;
  std::string backup;
  std::string storage_root;  // empty: where it was at the backup
};

// Makes `state_dir`, which holds no state yet, from a backup. Raises the generation above every one
// that a node may have seen, and makes the catalogue of the runs that go on agree with the
// checkpoints that are there (regained_checkpoints.h), so the storage root must be mounted. Holds
// the coordinator's lock of `state_dir`, and replaces the folders of runs and of the audit log that
// may be there. When it fails there is no gp.db, and it can be called again. Returns what to print.
// AlreadyExists when `state_dir` holds a state or a journal of one, NotFound when `backup` is none,
// FailedPrecondition when `state_dir` is another user's, a coordinator uses it, or the storage root
// is not there.
StatusOr<std::string> RestoreState(const Restore& restore, const Clock& clock);

}  // namespace gp::coordinator
