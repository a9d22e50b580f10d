// Regained checkpoints: after a restore the catalogue is as old as the backup. The storage root
// holds checkpoints that the catalogue lacks, and the catalogue lists checkpoints that no longer
// exist. These functions find both and say which events make the catalogue agree with the disk.
// Called by RestoreState and at a start with --adopt, before a coordinator runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/state/cluster.h"
#include "coordinator/state/event.h"
#include "coordinator/state/run.h"
#include "coordinator/store/store.h"
#include "storage/storage.h"

namespace gp::coordinator {

// An intact checkpoint that is missing in its run's catalogue.
struct UnlistedCheckpoint {
  Epoch epoch = 0;  // epoch of the ranks that wrote it
  contract::WrittenCheckpoint checkpoint;
};

// FailedPrecondition when the storage root is not mounted: some of `live` were placed, so they have
// a directory there, but none of these directories exists. The storage's error when none was
// found and one of them cannot be checked.
Status CheckStorage(const Storage& storage, const std::vector<std::shared_ptr<const Run>>& live);

// The newest two intact checkpoints below the run's directory that are newer than every one in its
// catalogue and do not end the run; by step. Reads every byte of them. Leaves out the final one:
// the run repeats its last steps and ends in the usual way. Also leaves out one whose manifest has
// an epoch that no run reaches after the backup; a warning names it.
StatusOr<std::vector<UnlistedCheckpoint>> FindUnlisted(const Storage& storage, const Run& run);

// A checkpoint of the catalogue that may be intact: the storage returned an error, so it could not
// be checked.
struct UnreadableCheckpoint {
  int64_t step = 0;
  std::string why;
};

// Differences between the catalogue and the disk.
struct ListedCheckpoints {
  std::vector<int64_t> gone;  // steps; nothing has the name of the directory any more
  std::vector<CheckpointKey> gone_superseded;  // of earlier legs; the same
  std::vector<UnreadableCheckpoint> unreadable;
};

// Looks at the directory and the manifest of each checkpoint in the run's catalogue.
ListedCheckpoints CheckListed(const Storage& storage, const Run& run);

// Returns events that seal the unlisted checkpoints and put the gone ones into quarantine, from
// which a user can restore them when the storage is back. A run whose ranks wrote in a later epoch
// is advanced to that epoch and requeued, so that its next ranks get a newer epoch. For a run that
// has ended, is ending or was never placed, handles the gone ones only. Apply the events in order.
std::vector<Event> Regain(const Run& run, const std::vector<UnlistedCheckpoint>& unlisted,
                          const ListedCheckpoints& listed, Timestamp at);

// Applies and stores the events.
Status AppendAndApply(const std::vector<Event>& events, Store& store, Cluster& cluster);

// The runs that have not ended and can continue.
std::vector<std::shared_ptr<const Run>> LiveRuns(const Cluster& cluster);

// Removes checkpoints with missing directories from the catalogue, also those of ended runs. Live
// runs then continue from what is left.
Status LoseGone(const Storage& storage, Cluster& cluster, Store& store, Timestamp at);

}  // namespace gp::coordinator
