// RunDirectories: the coordinator's work in the runs' directories under the storage root, on its
// own thread. It stores the run file in the run's directory, removes retired checkpoints, renames
// damaged ones, and removes checkpoints that can no longer be sealed. Every method may be called
// from any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mailbox.h"
#include "coordinator/state/cluster.h"
#include "coordinator/store/store.h"

namespace gp::coordinator {

// The checkpoint directories of `run` that are safe to remove: neither in the catalogue nor in
// quarantine, and written by an epoch that is over, or before a newer checkpoint was sealed.
// `names` are the entries of its checkpoints directory.
std::vector<std::string> FindOrphans(const Run& run, const std::vector<std::string>& names);

class RunDirectories {
 public:
  RunDirectories();
  ~RunDirectories();

  // Called after a start: removes everything that a crash may have left.
  void SweepAll(const Cluster& cluster);
  void Published(const std::shared_ptr<const Cluster>& cluster,
                 const std::vector<StoredEvent>& events);
  void Stop();

 private:
  static constexpr size_t kTasksMax = 65536;

  struct Task {
    std::shared_ptr<const Run> run;
    bool fresh = false;  // just submitted
    bool swept = false;  // found at a start
    // The steps of damaged checkpoints, whose directories are to be renamed.
    std::vector<int64_t> damaged_steps = {};
  };

  void Loop();
  // One task per run, with its newest state: tasks queued while the thread removes files are merged
  // into one pass over the directory, so it never falls behind a run that saves often.
  static std::map<RunId, Task> Merged(std::vector<Task> tasks);
  void Tend(const Task& task) const;

  Mailbox<Task> mailbox_;
  std::jthread thread_;
};

}  // namespace gp::coordinator
