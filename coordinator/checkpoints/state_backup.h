// BackUpState copies the coordinator's state directory while it is in use; RestoreState makes one
// from such a copy, on this machine or another (docs/operations/backup-restore.md). Implements
// `gp-coordinator --backup` and `--restore`; called on the main thread before other threads exist.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/status.h"

namespace gp::coordinator {

// Copies the state to `target`, which must not exist and appears only when the copy is complete.
// Each database is a consistent snapshot. Logs of runs are copied before gp.db, so they are older
// than the decisions about them; the audit log is copied last. A coordinator may be running.
// Checkpoints are not copied: they stay in the storage root. Returns the text to print. NotFound
// when `state_dir` holds no state, AlreadyExists when `target` exists, FailedPrecondition when the
// state belongs to another user.
StatusOr<std::string> BackUpState(const std::string& state_dir, const std::string& target,
                                  const Clock& clock);

struct Restore {
  std::string state_dir;
  std::string backup;
  std::string storage_root;  // empty: the path that the backup names
};

// Makes `state_dir`, which holds no state yet, from a backup. Raises the generation above any that
// a node may have seen, and makes the catalogue of unfinished runs agree with the checkpoints on
// disk (regained_checkpoints.h), so the storage root must be mounted. Holds the coordinator's lock
// of `state_dir`. On failure there is no gp.db, and the call can be repeated: it replaces what the
// failed one copied. Returns the text to print. AlreadyExists when `state_dir` holds a gp.db or a
// journal of one, or folders of runs or of the audit log that no failed restore left; NotFound when
// `backup` is not a backup; FailedPrecondition when a newer gp wrote the backup, `state_dir` is
// another user's, a coordinator uses it, or the storage root is missing.
StatusOr<std::string> RestoreState(const Restore& restore, const Clock& clock);

}  // namespace gp::coordinator
