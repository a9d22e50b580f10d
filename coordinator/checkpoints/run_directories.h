// RunDirectories: the coordinator's work in the runs' directories under the storage root, on its
// own thread. It stores the run file in the run's directory, deletes retired checkpoints and those
// that can no longer be sealed, marks the ones in quarantine, and deletes the directories of
// deleted runs. Every method may be called from any thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mailbox.h"
#include "coordinator/state/cluster.h"
#include "coordinator/store/store.h"
#include "storage/storage.h"

namespace gp::coordinator {

// What is safe to delete in the checkpoints directory of `run`: checkpoints that are neither in the
// catalogue nor in quarantine, and were written by an epoch that is over, or before a newer
// checkpoint was sealed; and marks of checkpoints that are not in quarantine. `names` are the
// entries of the directory.
std::vector<std::string> FindOrphans(const Run& run, const std::vector<std::string>& names);

class RunDirectories {
 public:
  // The run with the run files that an ended one no longer has; thread-safe.
  using ReadTexts = std::function<StatusOr<std::shared_ptr<const Run>>(std::shared_ptr<const Run>)>;

  // `storage` must outlive this object. Without `read_texts` every run must have its run files.
  explicit RunDirectories(const Storage& storage, ReadTexts read_texts = nullptr);
  ~RunDirectories();

  // Called once, at the coordinator's start: deletes everything that a crash may have left.
  void SweepAll(const Cluster& cluster);
  void Published(const std::shared_ptr<const Cluster>& cluster,
                 const std::vector<StoredEvent>& events);
  void Stop();

 private:
  static constexpr size_t kTasksMax = 65536;

  struct Task {
    RunId id;
    std::shared_ptr<const DeletedRun> deleted;  // null: the run is not deleted
    std::shared_ptr<const Run> run;             // null for a deleted run
    // The run when it was submitted or got another leg; null: its run file is written already.
    std::shared_ptr<const Run> fresh;
    bool swept = false;  // from SweepAll
    bool again = false;  // of a deletion: it was done once
  };

  void Loop();
  // Adds a task for each deleted run that may still have files.
  void SweepDeleted(const Cluster& cluster);
  // Whether the deletion has been finished: only the checkpoints that it keeps are left.
  bool HasOnlyKept(const DeletedRun& run) const;
  void Do(const Task& task);
  // Idempotent: what an earlier try removed is skipped.
  Status Delete(const DeletedRun& run) const;
  // Deletes everything in the directory except these names.
  Status DeleteExcept(const std::string& directory, const std::set<std::string>& kept) const;
  Status DeleteWhole(const std::string& path) const;
  // One task per run, with its newest state: tasks queued while the thread removes files are merged
  // into one pass over the directory, so it never falls behind a run that saves often.
  static std::map<RunId, Task> Merged(std::vector<Task> tasks);
  void Tend(const Task& task) const;
  Status WriteRunFiles(const std::shared_ptr<const Run>& known) const;
  // Makes the missing marks, and undoes the renames of an older version. `names` are sorted.
  void MarkQuarantined(const Run& run, const std::vector<std::string>& names) const;
  void Mark(const Run& run, const QuarantinedCheckpoint& held) const;

  const Storage& storage_;
  const ReadTexts read_texts_;
  Mailbox<Task> mailbox_;
  // Deletions to do again: those that failed, and once those that succeeded, because a rank on a
  // node that was away may have written meanwhile. This and the next: of the thread only.
  std::map<RunId, Task> again_;
  std::chrono::steady_clock::time_point again_at_;
  std::jthread thread_;
};

}  // namespace gp::coordinator
