// RunTally: counts of the runs that have not ended, kept up to date by Cluster::Set, so that a
// submit does not visit every run. A value.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "coordinator/state/run.h"

namespace gp::coordinator {

class RunTally {
 public:
  struct Count {
    int live = 0;
    int waiting = 0;  // of these: in SUBMITTED, QUEUED or BACKOFF
    friend bool operator==(const Count&, const Count&) = default;
  };

  // Counts `after` instead of `before`, the run's earlier value (null if the run is new).
  void Replace(const Run* before, const Run& after);

  // The runs of one user, named as in Run::submitted_by.
  Count Of(const std::string& user) const;
  int In(RunState state) const;
  // Size of the run files of these runs: as submitted plus as resolved.
  size_t file_bytes() const { return file_bytes_; }

  friend bool operator==(const RunTally&, const RunTally&) = default;

 private:
  void Add(const Run& run);
  void Remove(const Run& run);

  std::map<std::string, Count> users_;  // users with live runs
  std::map<RunState, int> states_;      // states with live runs
  size_t file_bytes_ = 0;
};

}  // namespace gp::coordinator
